"""A budget of time: the model and the steps that make the most of it.

They are chosen from speeds that are measured before the run. The machine may have been
busy for a moment then, and an hour of training makes many machines hot. So a run with a
budget pauses now and then, while none of its steps depends on how many there will be,
and continues with as many as fit: its weights are those of a run that was begun with
that many, and with the same warm-up.
"""

import bisect
import dataclasses
import functools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from albert_tf.data.input_pipeline import Records
from albert_tf.planning.budget import (
    LEAST_STEPS,
    SHAPES,
    Candidate,
    Outlook,
    Workload,
    best,
    estimated_seconds,
    evaluating_share,
    ladder_model,
)
from albert_tf.planning.cost import OF_DATA, predictions_of, training_flops
from albert_tf.runs.metrics import Say
from albert_tf.training.optimizers import first_bound
from albert_tf.training.run import ResolvedRun
from albert_tf.training.timing import fed_step_seconds, matrix_rate, step_seconds
from schemas.architecture import ModelConfig
from schemas.config import Precision, ResolvedDataConfig, TrainConfig
from schemas.errors import SettingError
from schemas.layout import EVAL, TRAIN
from schemas.manifest import DatasetManifest
from schemas.phases import Sample, mean_length, samples_of
from schemas.readable import counted, duration, rounded

# The shapes of the ladder that are timed: narrow, middle and wide.
TIMED = ((2, 128), (4, 256), (8, 512))

# Beginning a run and ending it: counting, reading, the last evaluation and saving; and
# compiling some twenty sizes of batches and the evaluation, as a multiple of the time
# for which the timing of its steps compiled.
OVERHEAD_SECONDS, COMPILED_AGAIN = 10.0, 1.2

# With less time left than this, timing steps would take a third of it. Where only the
# smallest model can do `LEAST_STEPS` steps then, they are said to take what this share
# of the rate of matrix products gives, and to compile so long, until they are counted.
SHORT_SECONDS, USUAL_SHARE, USUAL_COMPILING = 120.0, 0.3, 12.0

# The share of a budget in which steps of the model chosen are timed, and the least and
# most seconds of that.
TIMED_SHARE, TIMED_SECONDS = 0.01, (3.0, 60.0)

# What speaks for bfloat16: a rate of matrix products this many times that of float32.
SPEED_UP = 1.1

# Of the steps that do not depend on how many there will be, the shares after which they
# are counted again: the last time when a little can still be taken off.
PAUSES = (0.05, 0.2, 0.4, 0.6, 0.8, 0.95)

# There is no pause after fewer steps than this: they say nothing about the pace.
LEAST_STEPS_TIMED = 8

# Saving, and ending the process.
ENDING_SECONDS = 10.0


@dataclasses.dataclass(frozen=True)
class BudgetChoice:
    """What suits a budget best, and what else was considered.

    Attributes:
        candidates: Every model considered, the smallest first.
        place: The place of the one chosen among them.
        counting: The held-out loss of counting both neighbours, in nats; None where
            nothing is held out.
        characters: Different ones that the vocabulary has, where somebody counts them.
    """

    candidates: list[Candidate]
    place: int
    train: TrainConfig
    outlook: Outlook
    counting: float | None
    characters: int = 0

    @property
    def chosen(self) -> Candidate:
        """The model chosen."""
        return self.candidates[self.place]


def check_is_enough(seconds: float) -> None:
    """Refuse a budget that is over before the first step."""
    needed = OVERHEAD_SECONDS + COMPILED_AGAIN * USUAL_COMPILING
    if seconds < needed:
        raise SettingError(
            "--budget is too short: starting and finishing alone take about "
            f"{needed:.0f} s; give more time."
        )


def choose_for_budget(
    models: Sequence[ModelConfig],
    train: TrainConfig,
    records: Records,
    *,
    counting: float | None,
    until: float,
    say: Say,
) -> BudgetChoice:
    """Measure this machine, and choose a model and its steps.

    Args:
        models: To choose from, the smallest first.
        until: The end of the run, in seconds of `time.monotonic`.
    """
    seconds, manifest = until - time.monotonic(), records.manifest
    samples = list(samples_of(manifest.config, train))
    mean = mean_example(samples)
    outlook = outlook_of(mean, train, manifest)
    usual = _usual_seconds(models, train, outlook.workload, until=until)
    if usual:
        say("Too little time to time steps; they are counted again during the run.")
        models = models[:1]
    estimated = _estimated(
        models, mean, train=train, workload=outlook.workload, until=until, say=say
    )
    place = best(outlook.candidates(models, estimated, seconds=_left(until)))
    timed = float(np.clip(TIMED_SHARE * seconds, *TIMED_SECONDS))
    own, compiling = usual or _own_seconds(
        models[place], train, samples, records, seconds=timed, say=say
    )
    until -= COMPILED_AGAIN * compiling
    _check_fits(own, until=until)
    slower = [own / estimated[place] * of_step for of_step in estimated]
    found = outlook.candidates(models, slower, seconds=_left(until))
    place = best(found)
    train = dataclasses.replace(train, steps=found[place].steps)
    return BudgetChoice(found, place, train=train, outlook=outlook, counting=counting)


def _usual_seconds(
    models: Sequence[ModelConfig], train: TrainConfig, workload: Workload, *, until: float
) -> tuple[float, float] | None:
    """What `_own_seconds` is for the first model, where nothing is to be timed."""
    if until - time.monotonic() >= SHORT_SECONDS:
        return None
    rate = USUAL_SHARE * matrix_rate(train.precision)
    usual = [workload.flops(model) / rate for model in models[:2]]
    is_short = LEAST_STEPS * usual[-1] > _left(until)
    return (usual[0], USUAL_COMPILING) if is_short else None


def _own_seconds(
    model: ModelConfig,
    train: TrainConfig,
    samples: Sequence[Sample],
    records: Records,
    *,
    seconds: float,
    say: Say,
) -> tuple[float, float]:
    """The seconds of a step of a model on a run's own examples, and of compiling."""
    say(f"Timing steps of {_shape(model)} for {duration(seconds)}, once they are compiled ...")
    begun = time.monotonic()
    own = fed_step_seconds(model, train, samples, records, seconds=seconds)
    return own, max(0.0, time.monotonic() - begun - seconds)


def outlook_of(mean: ResolvedDataConfig, train: TrainConfig, manifest: DatasetManifest) -> Outlook:
    """What all models have in common that are trained on a data set."""
    length = mean_length(mean, data=manifest.config, length=manifest.statistics["mean_length"])
    return Outlook(
        Workload(train.batch_size, length, predictions_of(mean, length)),
        functools.partial(evaluating_share, train=train, held_out=manifest.num_examples(EVAL)),
        text=manifest.splits[TRAIN]["copies"][0]["tokens"],
    )


def mean_example(samples: Sequence[Sample]) -> ResolvedDataConfig:
    """The settings of an example that takes as long as those of a run on average."""

    def mean(of: Callable[[Sample], float]) -> float:
        return math.fsum(sample.share * of(sample) for sample in samples)

    longest = round(mean(lambda sample: sample.config.max_seq_length))
    predicted = mean(lambda sample: sample.config.masked_lm_prob * sample.config.max_seq_length)
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
    mean: ResolvedDataConfig,
    *,
    train: TrainConfig,
    workload: Workload,
    until: float,
    say: Say,
) -> list[float]:
    """The seconds of a step of each model, from the times of a few like them.

    The time of a single model comes later, so any will do here. Otherwise a shape is
    not timed, nor are those after it, if fewer than `LEAST_STEPS` of it would fit even
    at twice the speed that the shapes before suggest.
    """
    if len(models) == 1:
        return [1.0]
    of_data = {name: getattr(models[0], name) for name in OF_DATA}
    rates: dict[int, float] = {}
    for number, shape in enumerate(TIMED, start=1):
        model = ladder_model(*shape, **of_data)
        if rates:
            expected = estimated_seconds(rates, model, workload)
            if LEAST_STEPS * expected / 2 > _left(until):
                break
        say(f"Timing a step of {_shape(model)}, {number} of {len(TIMED)} shapes ...")
        seconds = step_seconds(model, mean, train, length=workload.length)
        rates[model.hidden_size] = workload.flops(model) / seconds
    return [estimated_seconds(rates, model, workload) for model in models]


def _left(until: float) -> float:
    """The seconds that steps can fill: those left after all that was measured."""
    return until - time.monotonic() - OVERHEAD_SECONDS


def _check_fits(step_seconds: float, *, until: float) -> None:
    """Refuse a budget in which no step fits what is left."""
    if _left(until) < step_seconds:
        raise SettingError(
            "--budget is too short: no step, which takes "
            f"{rounded(step_seconds)} s, fits between beginning and ending; give more "
            "time, or a smaller --model."
        )


def models_for(
    manifest: DatasetManifest, *, longest: int, changes: Mapping[str, Any]
) -> list[ModelConfig]:
    """The models of the ladder for a data set, without those that cannot be changed so.

    Args:
        longest: Tokens in the longest example, if that is more than 512.
        changes: Fields that are the same in all models, whatever the rung; what
            follows from layers and width still follows from them.
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
        shape = (changes.get("num_hidden_layers", layers), changes.get("hidden_size", hidden))
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


def pause_after(share: float, config: TrainConfig) -> int:
    """The step of one of the `PAUSES`; 0 for none.

    >>> pause_after(0.4, TrainConfig(steps=4000, warmup_steps=400))
    160
    >>> pause_after(0.4, TrainConfig(steps=4000, masked_lm_prob="0.30..0.15"))
    0
    """
    step = int(share * first_bound(config).step)
    return step if step >= LEAST_STEPS_TIMED else 0


def refilled(run: ResolvedRun, *, step: int, pace: float, at: float) -> tuple[int, int]:
    """How many steps a run is to have, once the seconds of each are known.

    Args:
        step: Those that are done.
        pace: Seconds of each of them.
        at: When the run is to end, on the monotonic clock.

    Returns:
        As many as fit, but no fewer than it can have; and as many as fit.
    """
    config, manifest = run.config, run.manifest
    ahead = cost_ahead(
        config,
        run.model_config,
        manifest.config,
        step=step,
        length=manifest.statistics["mean_length"],
    )
    evaluating = evaluating_share(config.steps, config, held_out=manifest.num_examples(EVAL))
    seconds = at - time.monotonic() - ENDING_SECONDS
    fitting = step + max(0, int(seconds / (ahead * pace * (1 + evaluating))))
    return max(fitting, least_steps(config, step=step)), fitting


def least_steps(config: TrainConfig, *, step: int) -> int:
    """The fewest steps that a run can have, once this many are done.

    With fewer, some of those would have been different.

    >>> least_steps(TrainConfig(steps=4000, schedule="constant-cooldown"), step=2400)
    3000
    """

    def are_enough(steps: int) -> bool:
        try:
            return first_bound(dataclasses.replace(config, steps=steps)).step >= step
        except SettingError:
            return False  # not even for the warm-up

    fewer = range(step, config.steps)
    return step + bisect.bisect_left(fewer, True, key=are_enough)


def cost_ahead(
    config: TrainConfig, model: ModelConfig, data: ResolvedDataConfig, *, step: int, length: float
) -> float:
    """What a step after a pause costs on average, in steps before it.

    Args:
        length: Tokens in an average example of the data.
    """

    def flops(sample: Sample) -> int:
        tokens = mean_length(sample.config, data=data, length=length)
        predictions = round(sample.config.masked_lm_prob * tokens)
        return training_flops(model, length=tokens, predictions=predictions)

    samples = list(samples_of(data, config))
    before, done = flops(samples[0]), step / config.steps
    whole = math.fsum(sample.share * flops(sample) for sample in samples)
    return (whole / before - done) / (1 - done)
