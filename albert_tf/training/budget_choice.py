"""The model and the settings for the time one has, from speeds measured now."""

import dataclasses
import functools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from albert_tf.data.data_check import check_has_training_examples
from albert_tf.planning.budget import (
    LEAST_STEPS,
    SHAPES,
    Candidate,
    Outlook,
    Timing,
    Workload,
    best,
    estimated_seconds,
    evaluating_share,
    ladder_model,
)
from albert_tf.planning.plan import OF_DATA, predictions_of
from albert_tf.training.job import records_of
from albert_tf.training.matrix_rate import matrix_rate
from albert_tf.training.measured_step import fed_step_seconds, step_seconds
from schemas.config import ModelConfig, Precision, ResolvedDataConfig, TrainConfig
from schemas.errors import SettingError
from schemas.layout import EVAL, TRAIN
from schemas.manifest import DatasetManifest
from schemas.phases import Sample, mean_length, samples_of
from schemas.readable import counted

Say = Callable[[str], None]

# The shapes of the ladder that are timed: narrow, middle and wide.
TIMED = ((2, 128), (4, 256), (8, 512))

# Beginning a run and ending it: reading, compiling some twenty sizes of batches, the
# last evaluation and saving.
OVERHEAD_SECONDS = 45.0

# The share of a budget in which steps of the model chosen are timed, and the least and
# most seconds of that.
TIMED_SHARE, TIMED_SECONDS = 0.01, (3.0, 60.0)

# What speaks for bfloat16: a rate of matrix products this many times that of float32.
SPEED_UP = 1.1


@dataclasses.dataclass(frozen=True)
class BudgetChoice:
    """What suits a budget best, and what else was considered.

    Attributes:
        candidates: Every model considered, the smallest first.
        place: The place of the one chosen among them.
        train: The settings to train it with.
        workload: Of a step.
        counting: The held-out loss of counting both neighbours, in nats; None where
            nothing is held out.
        text_tokens: Tokens of the training text, once.
    """

    candidates: list[Candidate]
    place: int
    train: TrainConfig
    workload: Workload
    counting: float | None
    text_tokens: int

    @property
    def chosen(self) -> Candidate:
        """The model chosen."""
        return self.candidates[self.place]


def choose_for_budget(  # noqa: PLR0913 - what a choice depends on
    seconds: float,
    train: TrainConfig,
    *,
    data: Path,
    manifest: DatasetManifest,
    models: Sequence[ModelConfig],
    precision_is_given: bool,
    count: Callable[[], float | None],
    say: Say,
) -> BudgetChoice:
    """Measure this machine, and choose a model, its precision and its steps.

    Args:
        seconds: From now to the end of the run.
        train: All other settings.
        data: The data set.
        manifest: Its manifest.
        models: To choose from, the smallest first.
        precision_is_given: Keep that of `train`.
        count: Gives the `counting` of a `BudgetChoice`.
        say: Told what is being measured.

    Raises:
        AlbertError: There is nothing to train on, or no step fits the budget.
    """
    until = time.monotonic() + seconds
    check_has_training_examples(manifest, data=data)
    if seconds < OVERHEAD_SECONDS:
        raise SettingError(
            "--budget is too short: starting and finishing alone take about "
            f"{OVERHEAD_SECONDS:.0f} s; give more time."
        )
    if not precision_is_given:
        train = dataclasses.replace(train, precision=faster_precision())
    samples = list(samples_of(manifest.config, train))
    mean = mean_example(samples)
    outlook = outlook_of(mean, train, manifest)
    records = records_of(data, manifest, train)

    say("Counting neighbouring tokens ...")
    counting = count()

    # Steps fill only what is left after all that is measured.
    def left() -> float:
        return until - time.monotonic() - OVERHEAD_SECONDS

    def seconds_of(config: ModelConfig) -> float:
        say(f"Timing a step of {_shape(config)} ...")
        return step_seconds(config, mean, train, length=outlook.workload.length)

    found = _estimated(models, seconds_of, outlook=outlook, left=left)
    expected = found[best(found)]
    say(f"Timing steps of {_shape(expected.config)} ...")
    timed = float(np.clip(TIMED_SHARE * seconds, *TIMED_SECONDS))
    own = fed_step_seconds(expected.config, train, samples, records, seconds=timed)
    _check_fits(own, seconds=left())
    found = outlook.slower(found, own / expected.step_seconds, seconds=left())
    place = best(found)
    return BudgetChoice(
        candidates=found,
        place=place,
        train=dataclasses.replace(train, steps=found[place].steps),
        workload=outlook.workload,
        counting=counting,
        text_tokens=manifest.splits[TRAIN]["copies"][0]["tokens"],
    )


def outlook_of(
    mean: ResolvedDataConfig, train: TrainConfig, manifest: DatasetManifest
) -> Outlook:
    """What all models have in common that are trained on a data set.

    Args:
        mean: The settings of the mean example.
        train: Those of the training.
        manifest: Of the data set.
    """
    length = mean_length(
        mean, data=manifest.config, length=manifest.statistics["mean_length"]
    )
    return Outlook(
        Workload(train.batch_size, length, predictions_of(mean, length)),
        functools.partial(
            evaluating_share, train=train, held_out=manifest.num_examples(EVAL)
        ),
    )


def mean_example(samples: Sequence[Sample]) -> ResolvedDataConfig:
    """The settings of an example that takes as long as those of a run on average."""

    def mean(of: Callable[[Sample], float]) -> float:
        return math.fsum(sample.share * of(sample) for sample in samples)

    longest = round(mean(lambda sample: sample.config.max_seq_length))
    predicted = mean(
        lambda sample: sample.config.masked_lm_prob * sample.config.max_seq_length
    )
    most = max(sample.config.max_predictions_per_seq for sample in samples)
    return dataclasses.replace(
        samples[-1].config,
        max_seq_length=longest,
        max_predictions_per_seq=max(1, min(most, round(predicted), longest - 3)),
    )


def _shape(config: ModelConfig) -> str:
    return f"{counted(config.num_hidden_layers, 'layer')} of {config.hidden_size}"


def _estimated(
    models: Sequence[ModelConfig],
    seconds_of: Callable[[ModelConfig], float],
    *,
    outlook: Outlook,
    left: Callable[[], float],
) -> list[Candidate]:
    """What each model would be, from the times of a few like them.

    A single model is timed later, so any time will do here. Otherwise a shape is not
    timed, nor are those after it, if fewer than `LEAST_STEPS` of it would fit even at
    twice the speed that the shapes before suggest.
    """
    if len(models) == 1:
        timings = [Timing(models[0], outlook.workload, seconds=1.0)]
        return outlook.candidates(models, timings, seconds=left())
    of_data = {name: getattr(models[0], name) for name in OF_DATA}
    timings = []
    for shape in TIMED:
        model = ladder_model(*shape, **of_data)
        if timings:
            expected = estimated_seconds(timings, model, outlook.workload)
            if LEAST_STEPS * expected / 2 > left():
                break
        timings.append(Timing(model, outlook.workload, seconds=seconds_of(model)))
    return outlook.candidates(models, timings, seconds=left())


def _check_fits(step_seconds: float, *, seconds: float) -> None:
    """Raises SettingError if no step fits what is left."""
    if seconds < step_seconds:
        raise SettingError(
            f"--budget is too short: starting takes about {OVERHEAD_SECONDS:.0f} s and "
            f"a step {step_seconds:.1f} s; give more time, or a smaller --model."
        )


def models_for(
    manifest: DatasetManifest, *, longest: int, changes: Mapping[str, Any]
) -> list[ModelConfig]:
    """The models of the ladder for a data set, without those that cannot be changed so.

    Args:
        manifest: Of the data set.
        longest: Tokens in the longest example, if that is more than 512.
        changes: Fields that are the same in all models, whatever the rung; what
            follows from layers and width still follows from them.

    Raises:
        SettingError: No model can have these fields.
    """
    fields = {
        "sentence_task": manifest.config.sentence_task,
        "max_position_embeddings": max(512, longest),
        **changes,
        "vocab_size": manifest.vocabulary["size"],
    }
    found: list[ModelConfig] = []
    refused: SettingError | None = None
    for layers, hidden in SHAPES:
        shape = (
            changes.get("num_hidden_layers", layers),
            changes.get("hidden_size", hidden),
        )
        try:
            found.append(ladder_model(*shape, **fields))
        except SettingError as error:
            refused = refused or error
    if refused and not found:
        raise refused
    return list(dict.fromkeys(found))


def faster_precision() -> Precision:
    """The number format in which this machine multiplies matrices faster."""
    rates = matrix_rate("bfloat16"), matrix_rate("float32")
    return "bfloat16" if rates[0] > SPEED_UP * rates[1] else "float32"
