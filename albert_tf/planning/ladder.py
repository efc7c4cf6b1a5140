"""A ladder of shapes, and what runs of them have reached: which one suits a budget.

The runs are in `ladder.csv`, a line each; `python -m benchmarks.ladder RUN... --corpus
NAME --language CODE` prints the lines of others. Losses are given as a share of
what counting both neighbours gives on the same held-out text, so that runs on different
vocabularies and languages lie on one curve.
"""

import csv
import dataclasses
import functools
import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from albert_tf.planning.compute_cost import num_blocks
from schemas.config import ModelConfig

TABLE = Path(__file__).parent / "ladder.csv"

# Layers and their width, from the smallest shape to BERT-base's.
SHAPES = (
    (2, 128),
    (4, 128),
    (4, 192),
    (4, 256),
    (6, 256),
    (6, 384),
    (8, 384),
    (8, 512),
    (12, 512),
    (12, 768),
)

# How much L layers are worth in layers of their own: with shared weights L to this
# power (Prairie et al., 2604.21106, of loops in causal models).
WORTH_OF_SHARED = 0.46

# How the loss falls with weights and with tokens: exponents of causal models (Kaplan
# et al., 2001.08361), because fitting exponents takes many more runs than factors do.
ALPHA, BETA = 0.076, 0.095

# The interval around a prediction, in deviations of the left-out runs, and its minimum:
# runs on other texts, languages and vocabularies were up to 4.7 % off.
DEVIATIONS, LEAST_MARGIN = 2.0, 0.05

# Runs up to this many times the largest one measured are still predicted by the law.
BEYOND = 2

Floats = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class LadderRun:
    """A finished run, as a line of the table.

    Attributes:
        layers: L.
        hidden: H.
        sharing: Of the weights.
        vocabulary: V, pieces.
        tokens: Tokens that it was trained on, padding left out.
        counting: Held-out loss of counting both neighbours, in nats.
        loss: Its own on the same tokens.
        bits: Its bits per character on words masked alone.
        corpus: By its public origin.
        language: Its code.
    """

    layers: int
    hidden: int
    sharing: str
    vocabulary: int
    tokens: int
    counting: float
    loss: float
    bits: float
    corpus: str
    language: str

    @property
    def weights(self) -> float:
        """As `effective_weights`."""
        return effective_weights(
            ladder_model(self.layers, self.hidden, sharing=self.sharing)
        )

    @property
    def share(self) -> float:
        """Its loss, as a share of that of counting."""
        return self.loss / self.counting


class Terms(NamedTuple):
    """Share of the loss of counting: `(a * weights^-(ALPHA / BETA) + b / tokens)^BETA`.

    The fewer the weights, the less further tokens are worth (Kaplan et al., 2001.08361,
    equation 1.5).

    Attributes:
        a: What too few weights cost.
        b: What too few tokens cost.
    """

    a: float
    b: float

    def share(self, *, weights: float, tokens: float) -> float:
        """The loss of a run, as a share of that of counting both neighbours."""
        cost = self.a * weights ** -(ALPHA / BETA) + self.b / tokens
        return float(cost**BETA)


@dataclasses.dataclass(frozen=True)
class Law:
    """What is known of losses.

    Attributes:
        terms: Fitted to runs.
        margin: The interval around what they say, as a share of it.
        most_weights: Of the runs that they were fitted to.
        most_tokens: Likewise.
    """

    terms: Terms
    margin: float
    most_weights: float
    most_tokens: float

    def is_outside(self, *, weights: float, tokens: float) -> bool:
        """Whether a run is so much larger than those fitted that this is a guess."""
        return (
            weights > BEYOND * self.most_weights or tokens > BEYOND * self.most_tokens
        )


def ladder_model(layers: int, hidden: int, **fields: Any) -> ModelConfig:
    """The architecture of a rung; sharing weights would save memory, but no time.

    Args:
        layers: L.
        hidden: H, a multiple of 64.
        **fields: What is otherwise in it.

    Raises:
        SettingError: The fields do not go together.

    >>> ladder_model(6, 384).num_attention_heads
    6
    """
    rung: dict[str, Any] = {
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "num_attention_heads": max(4, hidden // 64),
        "intermediate_size": 4 * hidden,
        "sharing": "none",
    }
    return ModelConfig(**rung | fields)


def effective_weights(config: ModelConfig) -> float:
    """The weights of layers, those that are shared counted for what they are worth.

    >>> round(effective_weights(ladder_model(4, 256)))
    3145728
    >>> round(effective_weights(ladder_model(4, 256, sharing="all")))
    1488020
    """
    hidden, inner = config.hidden_size, config.intermediate_size
    layers = num_blocks(config)
    uses = config.num_hidden_layers / config.num_hidden_groups
    shared = layers / uses * uses**WORTH_OF_SHARED
    attention = layers if config.sharing in ("none", "ffn") else shared
    ffn = layers if config.sharing in ("none", "attention") else shared
    return float(4 * hidden * hidden * attention + 2 * hidden * inner * ffn)


def read_table(path: Path = TABLE) -> list[LadderRun]:
    """The runs of a table."""
    kinds = {field.name: field.type for field in dataclasses.fields(LadderRun)}
    with path.open(encoding="utf-8", newline="") as file:
        return [
            LadderRun(**{name: kinds[name](text) for name, text in row.items()})  # type: ignore[operator]
            for row in csv.DictReader(file)
        ]


@functools.cache
def law() -> Law:
    """The law of the table that comes with the program."""
    return fitted_law(read_table())


def fitted_law(runs: Sequence[LadderRun]) -> Law:
    """The law that fits runs best, with an interval from leaving each of them out.

    Args:
        runs: Three or more.
    """
    squares = [
        _error(best_terms([*runs[:place], *runs[place + 1 :]]), [run])
        for place, run in enumerate(runs)
    ]
    deviation = math.sqrt(sum(squares) / len(squares))
    return Law(
        best_terms(runs),
        margin=max(LEAST_MARGIN, DEVIATIONS * deviation),
        most_weights=max(run.weights for run in runs),
        most_tokens=max(run.tokens for run in runs),
    )


def best_terms(runs: Sequence[LadderRun]) -> Terms:
    """The terms with the least squared error, relative to the losses.

    The terms are linear in `share^(1 / BETA)`, whose relative errors are those of the
    losses divided by BETA, as long as they are small.
    """
    columns = np.array(
        [(run.weights ** -(ALPHA / BETA), 1 / run.tokens) for run in runs]
    )
    costs = np.array([run.share ** (1 / BETA) for run in runs])
    solved = _non_negative(columns / costs[:, None], np.ones_like(costs))
    return Terms(*map(float, solved))


def _error(terms: Terms, runs: Sequence[LadderRun]) -> float:
    """The sum of the squared errors, each as a share of the loss."""
    return sum(
        (terms.share(weights=run.weights, tokens=run.tokens) / run.share - 1) ** 2
        for run in runs
    )


def _non_negative(columns: Floats, target: Floats) -> Floats:
    """The least-squares solution without negative parts, of a few columns."""
    number = columns.shape[1]
    best, least = np.zeros(number), math.inf
    for size in range(1, number + 1):
        for kept in itertools.combinations(range(number), size):
            part = np.linalg.lstsq(columns[:, kept], target, rcond=None)[0]
            if (part < 0).any():
                continue
            error = float(np.sum((columns[:, kept] @ part - target) ** 2))
            if error < least:
                least, best = error, np.zeros(number)
                best[list(kept)] = part
    return best
