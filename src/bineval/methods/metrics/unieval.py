"""UniEval (Zhong et al. 2022): a T5 that was trained to answer one yes/no question for each dimension."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

from bineval.errors import ConfigError, ModelRequestError
from bineval.hashing import Json
from bineval.io.values import storable
from bineval.judging.sentences import SentenceSplitter
from bineval.methods.metrics.base import Against, texts_of
from bineval.methods.metrics.hub import HubModel
from bineval.types import Example

Over = Literal["output", "mean", "sum"]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Form:
    """What the model was trained to read for one dimension.

    Attributes:
        question: The question.
        output: What the output is called.
        fields: What the other fields are called, in their order.
        over: Whether it is asked of the whole output, or of each sentence, with the mean or the sum of the answers.
    """

    question: str
    output: str
    fields: Mapping[Against, str]
    over: Over = "output"


# The interface of the published checkpoints, word by word: other words are other inputs.
_SUMMARIES = {
    "coherence": _Form(
        question="Is this a coherent summary to the document?", output="summary", fields={"input": "document"}
    ),
    "consistency": _Form(
        question="Is this claim consistent with the document?",
        output="claim",
        fields={"input": "document"},
        over="mean",
    ),
    "fluency": _Form(question="Is this a fluent paragraph?", output="paragraph", fields={}, over="mean"),
    "relevance": _Form(
        question="Is this summary relevant to the reference?", output="summary", fields={"reference": "reference"}
    ),
}
_DIALOGS = {
    "naturalness": _Form(question="Is this a natural response in the dialogue?", output="response", fields={}),
    "coherence": _Form(
        question="Is this a coherent response given the dialogue history?",
        output="response",
        fields={"input": "dialogue history"},
    ),
    "engagingness": _Form(
        question="Is this an engaging and informative response according to the dialogue history and fact?",
        output="response",
        fields={"input": "dialogue history", "context": "fact"},
        over="sum",
    ),
    "groundedness": _Form(
        question="Is this response consistent with knowledge in the fact?",
        output="response",
        fields={"context": "fact"},
    ),
    "understandability": _Form(
        question="Is this an understandable response in the dialogue?", output="response", fields={}
    ),
}
_TASKS = {"sum": _SUMMARIES, "dialog": _DIALOGS}
USUAL_MODELS = {"sum": "MingZhong/unieval-sum", "dialog": "MingZhong/unieval-dialog"}


class UniEval:
    """P(Yes) / (P(Yes) + P(No)) of the first token, for the question of the dimension.

    In [0, 1]; engagingness is the sum over the sentences, as the authors define it, and so may pass 1. Texts are not
    cut, where the authors' code keeps 1,024 tokens. Sentences are split by sencentex, theirs by NLTK.

    Args:
        dimensions: Those that will be asked for; they tell summaries from dialogs.
        model: A checkpoint, as a name on the hub or a folder; None for the authors' one of the task.
        device: Device of torch.

    Raises:
        ConfigError: The model has no question for a dimension, or it is not clear which task this is.
        MissingDependencyError: A package is not installed.
    """

    name = "unieval-t5"
    per_dimension = True

    def __init__(self, dimensions: Sequence[str], *, model: str | None = None, device: str | None = None) -> None:
        task = _task_of(dimensions, model)
        self._forms = _TASKS[task]
        asked = [self._forms[dimension.lower()] for dimension in dimensions]
        self._splitter = SentenceSplitter("en") if any(form.over != "output" for form in asked) else None
        self._task = task
        self._model = HubModel(
            model or USUAL_MODELS[task], kind="AutoModelForSeq2SeqLM", metric=self.name, device=device
        )

    @property
    def settings(self) -> Mapping[str, Json]:
        """Packages, model, task and what splits sentences."""
        splitter = self._splitter.version if self._splitter else None
        return {**self._model.settings, "task": self._task, "sentence_splitter": splitter}

    def score(self, example: Example, dimension: str) -> float:
        """The answer to the question of the dimension; see `Metric.score`."""
        form = self._forms[dimension.lower()]
        parts = {name: self._text(example, field) for field, name in form.fields.items()}
        output = storable(example.output)
        if form.over == "output" or self._splitter is None:
            return self._probability(form, output, parts)
        values = [self._probability(form, sentence, parts) for sentence in self._splitter.split(output)]
        return sum(values) / (len(values) if form.over == "mean" else 1)

    def _text(self, example: Example, field: Against) -> str:
        texts = texts_of(example, field, metric=self.name)
        if not texts:
            raise ModelRequestError(
                f"example {example.id} has no {field}, which its question is about", model=self.name
            )
        return texts[0]

    def _probability(self, form: _Form, output: str, parts: Mapping[str, str]) -> float:
        import torch

        texts = {form.output: output, **parts}
        pieces = [f"question: {form.question}", *(f"{name}: {self._model.plain(text)}" for name, text in texts.items())]
        network, device = self._model.network, self._model.device
        # T5 has no last position: nothing is too long for it but memory.
        ids = torch.tensor([self._model.token_ids(" </s> ".join(pieces), most=None)], device=device)
        start = torch.tensor([[network.config.decoder_start_token_id]], device=device)
        with torch.inference_mode():
            logits = network(ids, attention_mask=torch.ones_like(ids), decoder_input_ids=start).logits[0, 0]
        yes, no = (self._model.token_ids(word, most=None)[0] for word in ("Yes", "No"))
        return float(torch.sigmoid(logits[yes] - logits[no]))


def _task_of(dimensions: Sequence[str], model: str | None) -> str:
    asked = {dimension.lower() for dimension in dimensions}
    fitting = [task for task, forms in _TASKS.items() if asked <= forms.keys()]
    if not fitting:
        known = "; ".join(f"{task}: {', '.join(forms)}" for task, forms in _TASKS.items())
        raise ConfigError(
            f"{UniEval.name} has no question for the dimensions {', '.join(dimensions)}: all must be of one of {known}"
        )
    if len(fitting) == 1:
        return fitting[0]
    named = [task for task in fitting if model is not None and task in PurePath(model).name.lower()]
    if len(named) != 1:
        raise ConfigError(
            f"{UniEval.name} cannot tell from {', '.join(dimensions)} alone whether outputs are summaries or responses "
            f"in a dialog: give --metric-model {' or '.join(USUAL_MODELS.values())}"
        )
    return named[0]
