"""Shows how a run proceeds: a bar on a terminal, elsewhere a line now and then."""

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from bineval.cli.output import console, say

if TYPE_CHECKING:
    from bineval.judging.runner import Progress

_LINE_EVERY_S = 30.0
_NOTICE_EVERY_S = 5.0


class RunProgress:
    """A context manager; call it with each `Progress`, and `notice` with what the models have to say."""

    def __init__(self) -> None:
        self._display: _Display = _Bar() if sys.stderr.isatty() else _Lines()
        self._began_at = time.monotonic()
        self._noticed_at = -_NOTICE_EVERY_S
        self._stopping = False

    def __enter__(self) -> Self:
        self._display.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._display.end()

    def __call__(self, progress: "Progress") -> None:
        """Shows where the run stands."""
        if progress.stopping and not self._stopping:
            self._display.note("stopping: waiting for the calls under way; Ctrl-C again leaves at once")
        self._stopping = progress.stopping
        self._display.show(progress.n_done, progress.n_planned, self._words(progress))

    def notice(self, text: str) -> None:
        """Shows a notice; of many at a time, one every few seconds, but every warning."""
        now = time.monotonic()
        if text.startswith("warning:") or now - self._noticed_at >= _NOTICE_EVERY_S:
            self._noticed_at = now
            self._display.note(text)

    def _words(self, progress: "Progress") -> str:
        elapsed_s = time.monotonic() - self._began_at
        per_s = progress.n_fresh / elapsed_s if elapsed_s > 0 else 0.0
        usage = progress.usage
        parts = [
            _rate(per_s),
            f"{_short(usage.input_tokens + usage.output_tokens)} tokens",
            "cost unknown" if usage.cost_usd is None else f"${usage.cost_usd:.4f}",
        ]
        if progress.n_cached:
            parts.append(f"{progress.n_cached} cached")
        if progress.n_unanswered:
            parts.append(f"{progress.n_unanswered} unanswered")
        if per_s > 0 and progress.n_done < progress.n_planned:
            parts.append(f"{_duration((progress.n_planned - progress.n_done) / per_s)} left")
        return " · ".join(parts)


class _Display(Protocol):
    def begin(self) -> None: ...

    def end(self) -> None: ...

    def show(self, n_done: int, n_planned: int, words: str) -> None: ...

    def note(self, text: str) -> None: ...


class _Bar:
    def __init__(self) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        columns = (BarColumn(bar_width=16), MofNCompleteColumn(), TextColumn("{task.description}"))
        self._bars = Progress(*columns, console=console(stderr=True))
        self._task = self._bars.add_task("", total=None)

    def begin(self) -> None:
        self._bars.start()

    def end(self) -> None:
        self._bars.stop()

    def show(self, n_done: int, n_planned: int, words: str) -> None:
        self._bars.update(self._task, completed=n_done, total=n_planned, description=words)

    def note(self, text: str) -> None:
        self._bars.console.print(text, markup=False, soft_wrap=True)


class _Lines:
    def __init__(self) -> None:
        self._said_at = time.monotonic()

    def begin(self) -> None:
        """There is nothing to begin."""

    def end(self) -> None:
        """There is nothing to end."""

    def show(self, n_done: int, n_planned: int, words: str) -> None:
        now = time.monotonic()
        if now - self._said_at >= _LINE_EVERY_S:
            self._said_at = now
            say(f"{n_done}/{n_planned} verdicts · {words}")

    def note(self, text: str) -> None:
        say(text)


def _rate(per_s: float) -> str:
    return f"{per_s:.1f}/s" if per_s >= 1 or per_s == 0 else f"{per_s * 60:.1f}/min"


def _short(n: int) -> str:
    return f"{n}" if n < 10_000 else f"{n / 1000:.0f}k" if n < 10_000_000 else f"{n / 1e6:.0f}M"


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
