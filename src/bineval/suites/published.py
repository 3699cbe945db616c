"""What was published about the suites: the tables of BinEval (arXiv 2606.27226), for comparison beside own rows.

Other outputs of other judges than ours: they are to be read beside, not tested against.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bineval.hashing import Json
from bineval.stats.coefficients import Coefficient


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishedRow:
    """A row of a published table.

    Attributes:
        method: As the table calls it.
        values: Its coefficients by dimension; the average is over the dimensions, computed and not copied.
    """

    method: str
    values: Mapping[str, Mapping[Coefficient, float]]

    def to_json(self) -> dict[str, Json]:
        """All fields as JSON values."""
        return {"method": self.method, "values": {name: dict(item.items()) for name, item in self.values.items()}}

    def average(self, coefficient: Coefficient) -> float:
        """Mean of a coefficient over the dimensions."""
        return sum(item[coefficient] for item in self.values.values()) / len(self.values)


_SUMMEVAL = (
    ("ROUGE-1", (0.167, 0.126), (0.160, 0.130), (0.115, 0.094), (0.326, 0.252)),
    ("BERTScore", (0.284, 0.211), (0.110, 0.090), (0.193, 0.158), (0.312, 0.243)),
    ("MoverScore", (0.159, 0.118), (0.157, 0.127), (0.129, 0.105), (0.318, 0.244)),
    ("BARTScore", (0.448, 0.342), (0.382, 0.315), (0.356, 0.292), (0.356, 0.273)),
    ("UniEval (T5)", (0.575, 0.442), (0.446, 0.371), (0.449, 0.371), (0.426, 0.325)),
    ("G-Eval (GPT-4)", (0.582, 0.457), (0.507, 0.425), (0.506, 0.455), (0.547, 0.433)),
    ("G-Eval (gpt-oss)", (0.451, 0.392), (0.559, 0.527), (0.217, 0.203), (0.515, 0.446)),
    ("UniEval (gpt-oss)", (0.237, 0.208), (0.489, 0.476), (0.000, 0.000), (0.288, 0.256)),
    ("BinEval (gpt-oss)", (0.523, 0.448), (0.585, 0.548), (0.252, 0.235), (0.428, 0.366)),
    ("BinEval (Claude)", (0.652, 0.541), (0.655, 0.615), (0.540, 0.470), (0.404, 0.339)),
)
_TOPICAL_CHAT = (
    ("ROUGE-L", (0.176, 0.146), (0.193, 0.203), (0.295, 0.300), (0.310, 0.327)),
    ("BLEU-4", (0.180, 0.175), (0.131, 0.235), (0.232, 0.316), (0.213, 0.310)),
    ("METEOR", (0.212, 0.191), (0.250, 0.302), (0.367, 0.439), (0.333, 0.391)),
    ("BERTScore", (0.226, 0.209), (0.214, 0.233), (0.317, 0.335), (0.291, 0.317)),
    ("UniEval (T5)", (0.455, 0.330), (0.602, 0.455), (0.573, 0.430), (0.577, 0.453)),
    ("G-Eval (GPT-4)", (0.549, 0.565), (0.594, 0.605), (0.627, 0.631), (0.531, 0.551)),
    ("G-Eval (gpt-oss)", (0.422, 0.368), (0.526, 0.444), (0.642, 0.560), (0.576, 0.539)),
    ("UniEval (gpt-oss)", (0.000, 0.000), (0.132, 0.116), (0.073, 0.064), (0.370, 0.346)),
    ("BinEval (gpt-oss)", (0.483, 0.420), (0.447, 0.359), (0.648, 0.532), (0.578, 0.488)),
    ("BinEval (Claude)", (0.686, 0.565), (0.564, 0.447), (0.740, 0.606), (0.538, 0.485)),
)
_QAGS_CNN = (
    ("ROUGE-L", (0.357, 0.324, 0.254)),
    ("BERTScore", (0.576, 0.505, 0.399)),
    ("MoverScore", (0.414, 0.347, 0.271)),
    ("FactCC", (0.416, 0.484, 0.376)),
    ("BARTScore", (0.735, 0.680, 0.557)),
    ("CTC", (0.619, 0.564, 0.450)),
    ("UniEval (T5)", (0.682, 0.662, 0.532)),
    ("G-Eval (GPT-4)", (0.631, 0.685, 0.591)),
    ("G-Eval (gpt-oss)", (0.045, 0.028, 0.027)),
    ("UniEval (gpt-oss)", (0.415, 0.382, 0.357)),
    ("BinEval (gpt-oss)", (0.651, 0.642, 0.551)),
    ("BinEval (Claude)", (0.665, 0.702, 0.597)),
)
_QAGS_XSUM = (
    ("ROUGE-L", (0.024, -0.011, -0.009)),
    ("BERTScore", (0.024, 0.008, 0.006)),
    ("MoverScore", (0.054, 0.044, 0.036)),
    ("FactCC", (0.297, 0.259, 0.212)),
    ("BARTScore", (0.184, 0.159, 0.130)),
    ("CTC", (0.309, 0.295, 0.242)),
    ("UniEval (T5)", (0.461, 0.488, 0.399)),
    ("G-Eval (GPT-4)", (0.558, 0.537, 0.472)),
    ("G-Eval (gpt-oss)", (0.236, 0.236, 0.236)),
    ("UniEval (gpt-oss)", (0.490, 0.490, 0.490)),
    ("BinEval (gpt-oss)", (0.435, 0.483, 0.433)),
    ("BinEval (Claude)", (0.543, 0.539, 0.470)),
)

_TWO: tuple[Coefficient, ...] = ("spearman", "kendall")
_THREE: tuple[Coefficient, ...] = ("pearson", "spearman", "kendall")


def _rows(
    table: Sequence[tuple[str, *tuple[tuple[float, ...], ...]]],
    dimensions: Sequence[str],
    coefficients: Sequence[Coefficient],
) -> tuple[PublishedRow, ...]:
    return tuple(
        PublishedRow(
            method=method,
            values={
                name: dict(zip(coefficients, numbers, strict=True))
                for name, numbers in zip(dimensions, cells, strict=True)
            },
        )
        for method, *cells in table
    )


PUBLISHED: Mapping[str, tuple[PublishedRow, ...]] = {
    "summeval": _rows(_SUMMEVAL, ("coherence", "consistency", "fluency", "relevance"), _TWO),
    "topical-chat": _rows(_TOPICAL_CHAT, ("naturalness", "coherence", "engagingness", "groundedness"), _TWO),
    "qags-cnn": _rows(_QAGS_CNN, ("consistency",), _THREE),
    "qags-xsum": _rows(_QAGS_XSUM, ("consistency",), _THREE),
}
"""By suite; HANNA is not in these tables."""
