"""The law of losses that `--budget` goes by, fitted to runs of a ladder of shapes.

    python -m benchmarks.ladder RUN... --corpus "Wikipedia and books" --language en
    python -m benchmarks.ladder --fit

prints a line for each run that `albert evaluate` has measured, to be added to
`benchmarks/ladder.csv`, or the law that is fitted to the table (`LAW` of
`albert_tf/planning/budget.py`) with what it says of each line without having seen it.
"""

import argparse
import csv
import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.optimize import nnls

from albert_tf.planning.budget import (
    ALPHA,
    BETA,
    COUNTED_TOKENS,
    MOST_EPOCHS,
    Law,
    effective_weights,
    ladder_model,
)
from albert_tf.runs.run_record import read_run
from schemas.layout import TRAIN

# Of the text: those that are tried.
EXPONENTS = [thousandths / 1000 for thousandths in range(101)]

TABLE = Path(__file__).parent / "ladder.csv"


@dataclasses.dataclass(frozen=True)
class LadderRun:
    """A finished run, as a line of the table.

    Attributes:
        vocabulary: V, tokens.
        tokens: Tokens that it was trained on, padding left out.
        text: Tokens of its training text, once.
        counting: Held-out loss of counting both neighbours, in nats.
        loss: Its own on the same tokens.
        bits: Its bits per character on words masked alone.
        corpus: By its public origin.
    """

    layers: int
    hidden: int
    sharing: str
    vocabulary: int
    tokens: int
    text: int
    counting: float
    loss: float
    bits: float
    corpus: str
    language: str

    @property
    def weights(self) -> float:
        """As `effective_weights`."""
        return effective_weights(ladder_model(self.layers, self.hidden, sharing=self.sharing))

    @property
    def share(self) -> float:
        """Its loss, as a share of that of counting."""
        return self.loss / self.counting


def read_table(path: Path = TABLE) -> list[LadderRun]:
    """The runs of a table."""
    kinds = {field.name: field.type for field in dataclasses.fields(LadderRun)}
    with path.open(encoding="utf-8", newline="") as file:
        return [
            LadderRun(**{name: kinds[name](text) for name, text in row.items()})  # type: ignore[operator]
            for row in csv.DictReader(file)
        ]


def fitted_law(runs: Sequence[LadderRun]) -> Law:
    """The law with the least squared error, relative to the losses.

    Runs that read their text too often to say more of the law than of it are left out.
    For each exponent of the text, the other terms are linear in `share^(1 / BETA)`,
    whose relative errors are those of the losses divided by BETA while they are small.
    """
    runs = [run for run in runs if run.tokens <= MOST_EPOCHS * run.text]
    columns = np.array([(run.weights ** -(ALPHA / BETA), 1 / run.tokens) for run in runs])
    texts = np.array([min(1.0, run.text / COUNTED_TOKENS) for run in runs])
    shares = np.array([run.share for run in runs])

    def fitted(c: float) -> tuple[float, float, float, float]:
        costs = (shares / texts**c) ** (1 / BETA)
        (a, b), error = nnls(columns / costs[:, None], np.ones_like(costs))
        return float(error), float(a), float(b), c

    _, a, b, c = min(map(fitted, EXPONENTS))
    weights, tokens = zip(*((run.weights, run.tokens) for run in runs), strict=True)
    return Law(
        a=a,
        b=b,
        c=c,
        most_weights=max(weights),
        most_tokens=max(tokens),
        least_weights=min(weights),
        least_tokens=min(tokens),
        least_text=min(run.text for run in runs),
    )


def line_of(run: Path, *, corpus: str, language: str) -> LadderRun:
    """A run that was measured beside counting, as a line of the table.

    Raises:
        SystemExit: It was not.
    """
    record = read_run(run, title=run.name)
    data = record.data
    beside = [found for found in record.evaluations if "counting" in found]
    if data is None or not beside:
        raise SystemExit(f"{run}: measure it first: albert evaluate {run} --data DATA")
    measured = max(beside, key=lambda found: (found["step"], found["examples"]))
    examples = measured["step"] * record.config.batch_size
    return LadderRun(
        layers=record.model.num_hidden_layers,
        hidden=record.model.hidden_size,
        sharing=record.model.sharing,
        vocabulary=record.model.vocab_size,
        tokens=round(examples * data.statistics["mean_length"]),
        text=data.splits[TRAIN]["copies"][0]["tokens"],
        counting=round(measured["counting"]["neighbours"]["mlm_loss"], 4),
        loss=round(measured["mlm_loss"], 4),
        bits=round(measured["bits_per_character"]["model"]["value"], 4),
        corpus=corpus,
        language=language,
    )


def expected_losses(runs: Sequence[LadderRun]) -> list[float]:
    """The loss of each run, as the law that is fitted to all others has it."""
    laws = (fitted_law([*runs[:place], *runs[place + 1 :]]) for place in range(len(runs)))
    return [
        run.counting * law.share(weights=run.weights, tokens=run.tokens, text=run.text)
        for run, law in zip(runs, laws, strict=True)
    ]


def fit_lines(runs: list[LadderRun]) -> list[str]:
    """The law of a table, and what it expects of each line when that is left out."""
    law = fitted_law(runs)
    lines = [
        f"loss / loss of counting = ({law.a:.3g} weights^-{ALPHA / BETA:.3g} + "
        f"{law.b:.3g} / tokens)^{BETA} (text / {COUNTED_TOKENS:,})^{law.c:.3g}",
        f"LAW = {law}",
    ]
    for run, expected in zip(runs, expected_losses(runs), strict=True):
        lines.append(
            f"{run.layers} x {run.hidden}, {run.tokens:,} tokens of {run.corpus}: "
            f"{run.loss:.3f}, expected from the others {expected:.3f} "
            f"({run.loss / expected - 1:+.1%})"
        )
    return lines


def main() -> None:
    """Read the arguments, print the lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="*", type=Path)
    parser.add_argument("--corpus", help="what the runs were trained on")
    parser.add_argument("--language", default="en")
    parser.add_argument("--fit", action="store_true")
    arguments = parser.parse_args()
    if arguments.runs and not arguments.corpus:
        parser.error("--corpus: name the text that the runs were trained on")
    if arguments.fit:
        print("\n".join(fit_lines(read_table())))
    fields = [field.name for field in dataclasses.fields(LadderRun)]
    writer = csv.DictWriter(sys.stdout, fields, lineterminator="\n")
    for run in arguments.runs:
        line = line_of(run, corpus=arguments.corpus, language=arguments.language)
        writer.writerow(dataclasses.asdict(line))


if __name__ == "__main__":
    main()
