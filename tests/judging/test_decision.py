import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bineval.errors import ConfigError, ModelAuthError, ModelBusyError, ModelError, ModelNotFoundError
from bineval.judging.decision import (
    DecisionJudge,
    DecisionSettings,
    predicates_for,
    read_verdicts,
    state_text,
)
from bineval.judging.job import RunOptions
from bineval.judging.plans import JudgeOptions, SingleJudge
from bineval.methods.evaluate import evaluate
from bineval.models.catalog import ModelOptions, open_model
from bineval.types import Checklist, Dimension, Example, Question, Reply, Usage, Verdict
from support.asking import CHECKLIST
from support.command_line import N_VERDICTS, Folder, wait_until
from support.decision_servers import mock, sparrow
from support.provider_server import Answer, ProviderServer, Received
from support.threads import Together

EXAMPLE = Example(id="a", input="Describe the sky.", output='The sky is "blue".')
BLUE = Question(id="blue", text="Does it say blue?", dimension="d", violation="It says grey.")
LONG = Question(id="long-1", text="Is it long?", dimension="d", threshold=0.8)


@pytest.fixture(scope="module")
def server() -> Iterator[ProviderServer]:
    with ProviderServer() as server:
        yield server


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TYPESAFE_API_KEY", "TYPESAFE_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def judge(server: ProviderServer) -> DecisionJudge:
    server.received.clear()
    return judge_at(server.root)


def judge_at(url: str, **settings: Any) -> DecisionJudge:
    model = open_model("systemone/mock", ModelOptions(base_url=url, timeout_s=5))
    return DecisionJudge(model, task="Be brief.", settings=DecisionSettings(**settings))


def many(n: int) -> list[Question]:
    return [Question(id=f"q{i}", text=f"Is it {i}?", dimension="d") for i in range(n)]


def answering(
    probability: Callable[[str], float] = lambda key: 0.9, *, refuse: Callable[[dict[str, Any]], bool] = lambda q: False
) -> Callable[[Received], Answer]:
    """A server that says `probability(id)`, and 422 to questions that it refuses."""

    def behavior(received: Received) -> Answer:
        questions = received.body["questions"]
        if refuse(questions):
            detail = {"error_type": "max_tokens_exceeded", "message": "too many"}
            return Answer(status=422, body={"detail": detail})
        answers = {key: {"type": "noul", "noul": probability(key)} for key in questions}
        usage = {"input_tokens": 100, "output_tokens": len(answers)}
        return Answer(body={"model": "mock-1", "answers": answers, "usage": usage})

    return behavior


def sizes(server: ProviderServer) -> list[int]:
    """How many questions each request so far had; forgets them."""
    found = [len(received.body["questions"]) for received in server.received]
    server.received.clear()
    return found


def reasons(verdicts: list[Verdict]) -> list[object]:
    return [verdict.reason or verdict.answer for verdict in verdicts]


# ---- one request -----------------------------------------------------------------------------------------------------


def test_one_request_answers_all_questions_each_at_its_threshold(server: ProviderServer, judge: DecisionJudge) -> None:
    server.behavior = answering(lambda key: 0.75)
    blue, long = judge.ask(EXAMPLE, [BLUE, LONG])
    assert sizes(server) == [2]
    assert (blue.answer, blue.probability, blue.reason) == ("yes", 0.75, None), "above .5"
    assert (long.answer, long.probability) == ("no", 0.75), "not above .8"
    # 100 + 2 tokens and one call, over two questions.
    assert blue.usage == Usage(input_tokens=50, output_tokens=1, calls=1, cost_usd=None)
    assert long.usage == Usage(input_tokens=50, output_tokens=1, calls=0, cost_usd=None)
    assert (blue.judge, blue.explanation, judge.gives_probability) == ("systemone/mock", None, True)


@pytest.mark.parametrize(("probability", "answer"), [(0.5, "no"), (0.51, "yes"), (0, "no"), (1, "yes")])
def test_exactly_at_the_threshold_is_not_yes(
    server: ProviderServer, judge: DecisionJudge, probability: float, answer: str
) -> None:
    server.behavior = answering(lambda key: probability)
    (verdict,) = judge.ask(EXAMPLE, [BLUE])
    assert (verdict.answer, verdict.probability) == (answer, probability)
    assert isinstance(verdict.probability, float)


def test_the_state_has_a_fixed_order_and_only_what_there_is() -> None:
    full = Example(id="a", output="O", input="I", reference="R", context="C", human={"d": 1}, group="g")
    assert state_text(full, "T") == '{"input":"I","output":"O","reference":"R","context":"C","task":"T"}'
    assert state_text(Example(id="b", output=""), None) == '{"output":""}'


def test_a_question_names_the_field_and_its_violation_is_what_counts_as_no() -> None:
    blue, long = predicates_for([BLUE, LONG])
    assert (blue.id, blue.instructions) == ("blue", "About `output`: Does it say blue?")
    assert (blue.yes, blue.no) == (None, "It says grey.")
    assert (long.id, long.no) == ("long-1", None)


def test_a_question_about_a_sentence_quotes_it() -> None:
    question = Question(id="s/1", text="Is it true?", dimension="d", sentence='He said "no".')
    (predicate,) = predicates_for([question])
    assert predicate.instructions == 'About this sentence of `output` alone: "He said \\"no\\"."\nIs it true?'


# ---- bad answers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "reason", "words"),
    [
        ({}, "unparsed", "leaves this question out"),
        ({"blue": None}, "unparsed", "no probability: null"),
        ({"blue": "0.7"}, "unparsed", 'no probability: "0.7"'),
        ({"blue": True}, "unparsed", "no probability: true"),
        ({"blue": float("nan")}, "unparsed", "no probability: NaN"),
        ({"blue": float("inf")}, "unparsed", "no probability: Infinity"),
        ({"blue": -0.01}, "unparsed", "no probability: -0.01"),
        ({"blue": 1.000001}, "unparsed", "no probability: 1.000001"),
        ({"blue": 10**400}, "unparsed", "no probability: 1000"),
        ({"blue": {"noul": 0.5}}, "unparsed", "no probability: {"),
        ({"blue": "refused"}, "refused", "refused to answer this question"),
    ],
)
def test_a_bad_answer_fails_only_its_own_question(said: dict[str, object], reason: str, words: str) -> None:
    reply = Reply(text=json.dumps({**said, "long-1": 0.9}))
    bad, good = read_verdicts(reply, [BLUE, LONG])
    assert (bad.answer, bad.reason, bad.probability) == (None, reason, None)
    assert words in (bad.explanation or "")
    assert (good.answer, good.probability) == ("yes", 0.9)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(text="yes"), "unparsed"),
        (Reply(text="[0.5]"), "unparsed"),
        (Reply(text="", refusal="filtered", finish_reason="refused"), "refused"),
    ],
)
def test_a_reply_that_is_no_object_answers_nothing(reply: Reply, reason: str) -> None:
    assert reasons(read_verdicts(reply, [BLUE, LONG])) == [reason, reason]


@pytest.mark.parametrize("answers", [{}, None, [0.5], "yes"])
def test_an_answer_without_answers_is_an_error_and_not_asked_again(
    server: ProviderServer, judge: DecisionJudge, answers: object
) -> None:
    server.behavior = lambda received: Answer(body={"model": "m", "answers": answers})
    verdicts = judge.ask(EXAMPLE, [BLUE, LONG])
    assert reasons(verdicts) == ["error", "error"]
    assert sizes(server) == [2]


# What becomes of `blue` and `long-1`: "same" is the answer of a server without the fault, "any" is any answer.
FAULTS = {
    "first-question-only": ["same", "unparsed"],
    "extra-answer": ["same", "same"],
    "noul-range": ["unparsed", "unparsed"],
    "nan": ["same", "same"],
    "no-usage": ["same", "same"],
    "float-usage": ["same", "same"],
    "text-errors": ["same", "same"],
    "plain-content-type": ["same", "same"],
    "boolean-type": ["same", "same"],
    "unprefixed-extra": ["same", "same"],
    "forbid-extra": ["same", "same"],
    "string-only-text": ["same", "same"],
    "auth-rejects-header": ["same", "same"],
    "order-leaks": ["any", "any"],
    "batch-leaks": ["any", "any"],
    "id-leaks": ["any", "any"],
    "xssi-200": ["error", "error"],
    # Halved until the question that is refused stands alone.
    "strict-ids": ["same", "error"],
    "noul-two-sided": ["error", "same"],
}


@pytest.fixture(scope="module")
def faultless() -> list[Verdict]:
    with mock() as url:
        return judge_at(url).ask(EXAMPLE, [BLUE, LONG])


@pytest.mark.parametrize(("fault", "expected"), FAULTS.items())
def test_a_server_with_a_fault_never_gets_an_answer_that_it_did_not_give(
    faultless: list[Verdict], fault: str, expected: list[str]
) -> None:
    with mock("--fault", fault) as url:
        found = judge_at(url).ask(EXAMPLE, [BLUE, LONG])
    for verdict, without, outcome in zip(found, faultless, expected, strict=True):
        if outcome == "same":
            assert (verdict.answer, verdict.probability) == (without.answer, without.probability)
        elif outcome == "any":
            assert verdict.answer is not None
            assert 0 <= (verdict.probability or 0) <= 1
        else:
            assert (verdict.answer, verdict.reason, verdict.probability) == (None, outcome, None)


def test_a_server_without_this_format_ends_the_run() -> None:
    with mock("--fault", "wrong-route") as url, pytest.raises(ModelNotFoundError, match="--base-url"):
        judge_at(url).ask(EXAMPLE, [BLUE, LONG])


def test_a_noisy_server_is_taken_at_its_word() -> None:
    with mock("--noise", "2") as url:
        judge = judge_at(url)
        asked = [judge.ask(EXAMPLE, [BLUE, LONG], repeat=repeat)[0].probability for repeat in range(8)]
    assert all(probability is not None and 0 <= probability <= 1 for probability in asked)


@pytest.mark.parametrize(
    ("status", "error"),
    [(401, ModelAuthError), (501, ModelNotFoundError), (529, ModelBusyError), (500, ModelBusyError)],
)
def test_what_no_smaller_request_can_help_is_raised(
    server: ProviderServer, judge: DecisionJudge, status: int, error: type[ModelError]
) -> None:
    server.behavior = lambda received: Answer(status=status, body={"error": "no"})
    with pytest.raises(error):
        judge.ask(EXAMPLE, [BLUE, LONG])
    assert sizes(server) == [2]


# ---- several requests ------------------------------------------------------------------------------------------------


def test_questions_are_split_at_the_models_and_the_users_cap(server: ProviderServer, judge: DecisionJudge) -> None:
    assert [len(batch) for batch in judge.batches(many(130))] == [64, 64, 2]
    assert [len(batch) for batch in judge_at(server.root, max_questions=3).batches(many(7))] == [3, 3, 1]
    assert judge.batches([]) == []
    with pytest.raises(ConfigError, match="max_questions must be at least 1"):
        DecisionSettings(max_questions=0)


def test_a_refused_request_is_halved_and_the_size_that_works_is_kept(
    server: ProviderServer, judge: DecisionJudge
) -> None:
    server.behavior = answering(refuse=lambda questions: len(questions) > 3)
    # 8 and 4 are refused, 2 is taken: the second 4 is not even tried, nor anything larger later.
    verdicts = judge.ask(EXAMPLE, many(8))
    assert reasons(verdicts) == ["yes"] * 8
    assert sizes(server) == [8, 4, 2, 2, 2, 2]
    judge.ask(EXAMPLE, many(8))
    assert sizes(server) == [2, 2, 2, 2]
    requests = [request for _, request in judge.first_requests(EXAMPLE, many(8))]
    assert [[predicate.id for predicate in request.predicates] for request in requests] == [
        ["q0", "q1"],
        ["q2", "q3"],
        ["q4", "q5"],
        ["q6", "q7"],
    ]


def test_a_question_that_is_refused_alone_is_an_error_and_makes_no_later_request_smaller(
    server: ProviderServer, judge: DecisionJudge
) -> None:
    server.behavior = answering(refuse=lambda questions: "q1" in questions)
    for _ in range(2):
        verdicts = judge.ask(EXAMPLE, many(4))
        assert reasons(verdicts) == ["yes", "error", "yes", "yes"]
        assert sizes(server) == [4, 2, 1, 1, 2]
    assert "never cut: too many" in (verdicts[1].explanation or "")
    assert verdicts[1].usage == Usage(), "the next sitting asks it again"


def test_threads_learn_the_size_together(server: ProviderServer, judge: DecisionJudge) -> None:
    server.behavior = answering(refuse=lambda questions: len(questions) > 4)
    found = Together(lambda _: judge.ask(EXAMPLE, many(16)), 32, n_threads=8).outcomes()
    assert all(isinstance(verdicts, list) and reasons(verdicts) == ["yes"] * 16 for verdicts in found)
    sizes(server)
    judge.ask(EXAMPLE, many(16))
    assert sizes(server) == [4, 4, 4, 4]


def test_more_text_than_a_request_may_have_is_split(server: ProviderServer, judge: DecisionJudge) -> None:
    # At three bytes a token, 90,000 bytes are 30,000 tokens: two questions of that length and a short state fit into
    # 64,000, three do not; with a state of the same length only one does.
    server.behavior = answering()
    long = [Question(id=f"q{i}", text="x" * 90_000, dimension="d") for i in range(3)]
    judge.ask(EXAMPLE, long)
    assert sizes(server) == [1, 2]
    judge.ask(Example(id="b", output="y" * 90_000), long)
    assert sizes(server) == [1, 1, 1]
    # A state that is too long by itself gets no shorter by asking less.
    judge.ask(Example(id="c", output="y" * 200_000), long)
    assert sizes(server) == [3]


# ---- what it is made of ----------------------------------------------------------------------------------------------


def test_only_a_decision_model_can_be_asked_in_this_way(server: ProviderServer, judge: DecisionJudge) -> None:
    chat = open_model("openai/judge", ModelOptions(base_url=server.base_url))
    with pytest.raises(ConfigError, match="openai/judge is no decision model: use --kind chat"):
        DecisionJudge(chat)
    plan = SingleJudge(model=judge.model, options=JudgeOptions(decision=DecisionSettings(max_questions=5)))
    built = plan.build(lambda model: model, checklist=CHECKLIST)
    assert (plan.kind, built.name) == ("decision", "systemone/mock")
    assert built.settings == {
        "kind": "decision",
        "model": {"provider": "systemone", "model": "mock", "base_url": f"{server.root}/v1/systemone"},
        "form": "decision/1",
        "max_questions": 5,
    }


# ---- whole runs ------------------------------------------------------------------------------------------------------


def test_another_threshold_asks_nothing_again(server: ProviderServer, tmp_path: Path) -> None:
    server.received.clear()
    server.behavior = answering(lambda key: 0.7)
    options = RunOptions(model=ModelOptions(base_url=server.root))
    questions = (BLUE, LONG)
    answers = []
    for threshold in (0.6, 0.7):
        checklist = Checklist(name="c", questions=questions, dimensions={"d": Dimension()}, threshold=threshold)
        with evaluate(
            [EXAMPLE],
            checklist,
            judge="systemone/mock",
            name=f"at {threshold}",
            store=tmp_path / "s.db",
            options=options,
        ) as run:
            rows = list(run.verdicts())
            answers.append([row.verdict.answer for row in rows])
            assert len({row.verdict.replies for row in rows}) == 1
    assert answers == [["yes", "no"], ["no", "no"]], "one question has a threshold of its own"
    assert sizes(server) == [2]


def test_questions_per_sentence_are_in_the_same_request(server: ProviderServer, tmp_path: Path) -> None:
    server.received.clear()
    server.behavior = answering(lambda key: 0.2 if key == "s/2" else 0.9)
    questions = (BLUE, Question(id="s", text="Is it true?", dimension="d", per="sentence"))
    checklist = Checklist(name="c", questions=questions, dimensions={"d": Dimension()})
    example = Example(id="a", output="The sky is blue. It is made of cheese.")
    options = RunOptions(model=ModelOptions(base_url=server.root))
    with evaluate([example], checklist, judge="systemone/mock", store=tmp_path / "s.db", options=options) as run:
        rows = list(run.verdicts())
    assert [(row.question_id, row.sentence, row.verdict.answer) for row in rows] == [
        ("blue", None, "yes"),
        ("s", "The sky is blue.", "yes"),
        ("s", "It is made of cheese.", "no"),
    ]
    assert sizes(server) == [3]


def test_a_real_model_judges_a_data_set_and_a_finished_run_needs_no_server(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    with sparrow() as url:
        command = ("run", "data.jsonl", "--checklist", "checklist.yaml", "--judge", "systemone/nano", "--base-url", url)
        first = folder.bineval(*command, "--json")
    assert first.code == 0, first.err
    # The server is gone: the run resumes, and a new run finds every reply in the cache.
    for more in ((), ("--name", "again")):
        later = folder.bineval(*command, "--json", *more)
        assert later.code == 0, later.err
        assert later.json["scores"] == first.json["scores"]
    with folder.stored_run("again") as run:
        rows = list(run.verdicts())
    assert len(rows) == N_VERDICTS
    assert all(row.verdict.cached and row.verdict.probability is not None for row in rows)
    assert len({row.verdict.replies for row in rows}) == 4, "one reply for each example"


def test_a_run_that_is_killed_pays_no_reply_twice(server: ProviderServer, tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    server.received.clear()
    slow = answering()

    def behavior(received: Received) -> Answer:
        wait_until(lambda: len(server.received) < 3 or go_on)
        return slow(received)

    go_on: list[bool] = []
    server.behavior = behavior
    command = ("run", "data.jsonl", "--checklist", "checklist.yaml", "--judge", "systemone/mock")
    command = (*command, "--base-url", server.root, "--concurrency", "1")
    process = folder.start(*command)
    wait_until(lambda: len(server.received) == 3)
    process.kill()
    process.communicate()
    go_on.append(True)
    resumed = folder.bineval(*command)
    assert resumed.code == 0, resumed.err
    # Two replies were kept, the third was under way: it and the fourth are asked.
    assert sizes(server) == [3, 3, 3, 3, 3]
