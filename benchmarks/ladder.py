"""Lines for the ladder's table, from runs that `albert evaluate` has measured.

    python -m benchmarks.ladder RUN... --corpus "Wikipedia and books" --language en
    python -m benchmarks.ladder --fit

prints a line for each run, to be added to `albert_tf/planning/ladder.csv`, or the law
that is fitted to the table with what it says of each line without having seen it.
"""

import argparse
import csv
import dataclasses
import sys
from pathlib import Path

from albert_tf.planning.ladder import (
    ALPHA,
    BETA,
    LadderRun,
    best_terms,
    fitted_law,
    read_table,
)
from albert_tf.runs.run_record import read_run


def line_of(run: Path, *, corpus: str, language: str) -> LadderRun:
    """A run that was measured beside counting, as a line of the table.

    Raises:
        SystemExit: It was not.
    """
    record = read_run(run, title=run.name)
    measured, data = record.evaluation, record.data
    if measured is None or "counting" not in measured or data is None:
        raise SystemExit(f"{run}: measure it first: albert evaluate {run} --data DATA")
    examples = measured["step"] * record.config.batch_size
    return LadderRun(
        layers=record.model.num_hidden_layers,
        hidden=record.model.hidden_size,
        sharing=record.model.sharing,
        vocabulary=record.model.vocab_size,
        tokens=round(examples * data.statistics["mean_length"]),
        counting=round(measured["counting"]["neighbours"]["mlm_loss"], 4),
        loss=round(measured["mlm_loss"], 4),
        bits=round(measured["bits_per_character"]["model"]["value"], 4),
        corpus=corpus,
        language=language,
    )


def fit_lines(runs: list[LadderRun]) -> list[str]:
    """The law of a table, and what it expects of each line when that is left out."""
    law = fitted_law(runs)
    terms = law.terms
    lines = [
        f"loss / loss of counting = ({terms.a:.3g} weights^-{ALPHA / BETA:.3g} + "
        f"{terms.b:.3g} / tokens)^{BETA}, within {law.margin:.1%}"
    ]
    for place, run in enumerate(runs):
        others = best_terms([*runs[:place], *runs[place + 1 :]])
        expected = run.counting * others.share(weights=run.weights, tokens=run.tokens)
        lines.append(
            f"{run.layers} x {run.hidden}, sharing {run.sharing}, {run.tokens:,} "
            f"tokens: {run.loss:.3f}, expected from the others {expected:.3f} "
            f"({expected / run.loss - 1:+.1%})"
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
