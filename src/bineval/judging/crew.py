"""The one bounded thread pool: asks a judge tasks in turn and hands back what it answers."""

import queue
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby

from bineval.errors import ModelBusyError
from bineval.judging.base import Judge
from bineval.judging.units import Asked
from bineval.types import Example, Verdict

# With this many tasks waiting for each thread, no thread is idle while the main thread saves.
_TASKS_PER_THREAD = 2
# Beyond one for each thread: an outage fails all calls under way, and must not fail the whole run one by one.
_MOST_FAILURES_IN_A_ROW = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """One call of `Judge.ask`, with its place in the run.

    Attributes:
        position: Place of the example in the data.
        questions: The batch.
        repeat: Which time of asking.
    """

    position: int
    example: Example
    questions: tuple[Asked, ...]
    repeat: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What came of a task.

    Attributes:
        verdicts: One for each question, in order.
        unreachable: The error of a model that stayed unreachable after all retries.
    """

    task: Task
    verdicts: list[Verdict]
    unreachable: ModelBusyError | None = None


class Crew:
    """Runs tasks on `n_threads` threads; memory does not grow with the number of examples.

    The first task is asked alone: what it meets (key, model, parameters) is settled before the rest are sent, and an
    unreachable model ends the run there. Later, a task whose model stays unreachable after all retries becomes
    unanswered with reason "error"; too many of these in a row end the run.

    Of each example the first task is sent before the rest, so that a server that keeps what prompts have in common
    has read the example when the others come; until then, other examples keep the threads busy.

    Args:
        judge: Who is asked.
        tasks: Those of one example (one position) follow each other.
        n_threads: How many tasks are asked at once.
    """

    def __init__(self, judge: Judge, tasks: Iterator[Task], *, n_threads: int) -> None:
        self._judge, self._n_threads = judge, n_threads
        self._examples = groupby(tasks, key=lambda task: task.position)
        self._ready: deque[Task] = deque()
        self._held: dict[int, list[Task]] = {}  # by position, until the first task of that example has finished
        self._pool = ThreadPoolExecutor(n_threads, thread_name_prefix="bineval")
        self._finished: queue.SimpleQueue[Future[Outcome]] = queue.SimpleQueue()
        self._under_way: set[Future[Outcome]] = set()
        self._n_failures_in_a_row = 0
        self._stopped = False

    def outcomes(self) -> Iterator[Outcome]:
        """Yields each outcome as its task finishes.

        When a task raises, nothing more is sent; what is under way is still yielded, and then the error is raised.
        Can be called again after an interruption, to collect what is under way.
        """
        error: BaseException | None = None
        # Anew, for an interruption may have lost what it took from the queue.
        self._finished = queue.SimpleQueue()
        for future in self._under_way:
            future.add_done_callback(self._finished.put)
        if not self._stopped and not self._under_way:
            self._send(1, self._ask)
        while self._under_way:
            future = self._finished.get()
            self._under_way.remove(future)
            if future.cancelled():
                continue
            failure = future.exception()
            if failure is None:
                outcome = future.result()
                failure = self._too_many_failures(outcome)
                self._ready.extend(self._held.pop(outcome.task.position, ()))
                yield outcome
            if failure is not None:
                error = error or failure
                self.stop()
            if not self._stopped:
                self._send(self._n_threads * _TASKS_PER_THREAD - len(self._under_way), self._ask_patiently)
        self._pool.shutdown(wait=False)
        if error is not None:
            raise error

    def stop(self) -> None:
        """Sends nothing more; tasks that no thread has begun are taken back."""
        self._stopped = True
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _send(self, n: int, ask: Callable[[Task], Outcome]) -> None:
        for _ in range(n):
            if not self._ready and not self._begin_example():
                return
            future = self._pool.submit(ask, self._ready.popleft())
            self._under_way.add(future)
            future.add_done_callback(self._finished.put)

    def _begin_example(self) -> bool:
        """Makes the first task of the next example ready; returns whether there is one more example."""
        position, tasks = next(self._examples, (0, None))
        if tasks is None:
            return False
        first, *rest = tasks
        self._ready.append(first)
        if self._n_threads == 1:
            # In order anyway; other examples in between would only make a local engine forget this one.
            self._ready.extend(rest)
        elif rest:
            self._held[position] = rest
        return True

    def _ask(self, task: Task) -> Outcome:
        questions = [asked.question for asked in task.questions]
        return Outcome(task=task, verdicts=self._judge.ask(task.example, questions, repeat=task.repeat))

    def _ask_patiently(self, task: Task) -> Outcome:
        try:
            return self._ask(task)
        except ModelBusyError as error:
            verdict = Verdict(answer=None, reason="error", explanation=str(error), judge=self._judge.name)
            return Outcome(task=task, verdicts=[verdict] * len(task.questions), unreachable=error)

    def _too_many_failures(self, outcome: Outcome) -> ModelBusyError | None:
        self._n_failures_in_a_row = self._n_failures_in_a_row + 1 if outcome.unreachable else 0
        if self._n_failures_in_a_row >= self._n_threads + _MOST_FAILURES_IN_A_ROW:
            return outcome.unreachable
        return None
