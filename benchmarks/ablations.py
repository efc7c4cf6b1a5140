"""Runs beside each other as in the paper's Tables 4 and 5: masked LM, NSP and SOP.

    python -m benchmarks.ablations RUN... --data SOP NSP NONE

Every run is measured on the held-out pairs of every data set, whatever task it was
trained on: a pair that is out of order and one whose second segment comes from another
document both have the label 1. Masked LM is measured on the data whose task is the
run's own. A run without a sentence head cannot be asked; what its encoder knows is
measured with a logistic regression on the state at [CLS], fitted on 20,000 pairs of
the training split (marked with *). Intervals are 95 %, Wilson's. A step is timed here,
on the first data set, the runs' models in turns.
"""

import argparse
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from albert_tf.convert.reading import load_pretrainer
from albert_tf.data.input_pipeline import Records, evaluation_batches, training_batches
from albert_tf.data.step_shape import StepShape
from albert_tf.evaluation.compiled import compiled
from albert_tf.evaluation.evaluate import evaluate
from albert_tf.evaluation.held_out import held_out_examples
from albert_tf.model.initial_weights import initialize_weights
from albert_tf.model.parameters import count_parameters
from albert_tf.model.pretrainer import AlbertPretrainer
from albert_tf.model.trained_model import read_trained
from albert_tf.planning.micro_batch import MAX_PIECES
from albert_tf.runs.confidence import with_interval
from albert_tf.runs.run_record import read_run, run_config
from albert_tf.training.backends import training_steps
from benchmarks.timing import seconds, take_step
from schemas.manifest import DatasetManifest, read_manifest

FITTED_PAIRS = 20_000
ROUNDS = 21

Floats = npt.NDArray[np.float64]


def class_states(
    model: AlbertPretrainer, batches: Iterator[dict[str, Any]], *, pairs: int
) -> tuple[Floats, npt.NDArray[np.int64]]:
    """The last state at [CLS] and the label of some pairs, `[N, H]` and `[N]`."""

    def states_of(model: AlbertPretrainer, batch: dict[str, Any]) -> Any:
        rows = model.encoder(
            batch["input_ids"], batch["input_mask"], batch["segment_ids"]
        )
        return rows[:: batch["input_ids"].shape[1]]

    measure = compiled(states_of, model)
    states, labels, found = [], [], 0
    while found < pairs:
        batch = next(batches)
        states.append(np.asarray(measure(batch), np.float64))
        labels.append(np.asarray(batch["sentence_order_labels"]))
        found += len(labels[-1])
    return np.concatenate(states)[:pairs], np.concatenate(labels)[:pairs]


def fit_logistic(
    states: Floats, labels: npt.NDArray[np.int64], *, penalty: float = 10.0
) -> Floats:
    """Weights and bias of a logistic regression by Newton's method, `[H + 1]`.

    >>> fitted = fit_logistic(np.array([[-1.0], [1.0]] * 50), np.array([0, 1] * 50))
    >>> bool(fitted[0] > 1), round(abs(float(fitted[1])), 6)
    (True, 0.0)
    """
    inputs = np.append(states, np.ones((len(states), 1)), axis=1)
    fitted = np.zeros(inputs.shape[1])
    for _ in range(20):
        likely = 1 / (1 + np.exp(-np.clip(inputs @ fitted, -30, 30)))
        gradient = inputs.T @ (likely - labels) + penalty * fitted
        weighted = inputs * (likely * (1 - likely))[:, None]
        curvature = inputs.T @ weighted + penalty * np.eye(len(fitted))
        fitted -= np.linalg.solve(curvature, gradient)
    return fitted


def fitted_accuracy(run: Path, data: Path, manifest: DatasetManifest) -> str:
    """What the state at [CLS] of a run without a sentence head knows of a task."""
    model = load_pretrainer(run)
    records = Records(data, manifest)
    size = MAX_PIECES // manifest.config.max_seq_length
    training = (
        {name: values[0] for name, values in batch.items()}
        for batch in training_batches(records, StepShape(size, size), seed=1)
    )
    states, labels = class_states(model, training, pairs=FITTED_PAIRS)
    center, scale = states.mean(0), states.std(0) + 1e-6
    fitted = fit_logistic((states - center) / scale, labels)
    held_out = held_out_examples(manifest, data=data, maximum=None)
    batches = evaluation_batches(records, batch_size=size, examples=held_out)
    states, labels = class_states(model, batches, pairs=held_out)
    said = ((states - center) / scale) @ fitted[:-1] + fitted[-1] > 0
    return with_interval(float(np.mean(said == labels)), held_out) + "*"


def cells(run: Path, data: dict[str, Path]) -> dict[str, str]:
    """Masked LM and both sentence tasks of a run, where there is data for them."""
    own = run_config(run).sentence_task
    found: dict[str, str] = {}
    for task, path in data.items():
        if own == "none" and task != "none":
            found[task] = fitted_accuracy(run, path, read_manifest(path))
        elif task in (own, "nsp", "sop"):
            measured = evaluate(read_trained(run), data=path)
            if task == own:
                found["mlm"] = with_interval(
                    measured["mlm_accuracy"], measured["mlm_count"]
                )
            if task != "none":
                found[task] = with_interval(
                    measured["sentence_accuracy"], measured["sentence_count"]
                )
    return found


def step_seconds(runs: list[Path], data: Path) -> Floats:
    """The time of a step of each run's model, the median of alternating rounds.

    A step is one micro-batch, as in runs whose batches are small.
    """
    records = Records(data, read_manifest(data))
    turns = []
    for path in runs:
        run = read_run(path, title=path.name)
        precision, recompute = run.config.precision, run.config.recompute
        model = AlbertPretrainer(run.model, precision=precision, recompute=recompute)
        deviation = run.model.initializer_range
        initialize_weights(model, standard_deviation=deviation, seed=1)
        steps = training_steps(model, run.config)
        shape = StepShape(run.config.batch_size, run.config.batch_size)
        batch = next(training_batches(records, shape, seed=1))
        turns.append(functools.partial(take_step, steps, batch))
    return np.median([list(map(seconds, turns)) for _ in range(ROUNDS)], axis=0)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--data", nargs="+", type=Path, required=True)
    arguments = parser.parse_args()
    data: dict[str, Path] = {
        read_manifest(path).config.sentence_task: path for path in arguments.data
    }
    print(
        "| run | trained on | sharing | parameters | ms/step | masked LM "
        "| next sentence | sentence order |\n|---|---|---|--:|--:|--:|--:|--:|"
    )
    times = step_seconds(arguments.runs, arguments.data[0])
    for run, each in zip(arguments.runs, times, strict=True):
        config = run_config(run)
        found = cells(run, data)
        print(
            f"| {run.name} | {config.sentence_task} | {config.sharing} "
            f"| {sum(count_parameters(config).values()):,} "
            f"| {1000 * each:.0f} | {found.get('mlm')} "
            f"| {found.get('nsp')} | {found.get('sop')} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
