"""Settings of the examples that may change while a run trains, and when they do.

A schedule is written as `128:0.9,512`: 128 for 0.9 of the steps, then 512. The share of
tokens to predict may also change with every step, as in `0.30..0.15`.
"""

import dataclasses
import itertools
import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from schemas.config import ResolvedDataConfig, TrainConfig, flag_name
from schemas.errors import SettingError

Setting = Literal["max_seq_length", "masked_lm_prob", "kept_share", "masked_words", "sentence_task"]

# The settings of training that examples made on the fly depend on, with their types.
SETTINGS: dict[Setting, type] = {
    "max_seq_length": int,
    "masked_lm_prob": float,
    "kept_share": float,
    "masked_words": str,
    "sentence_task": str,
}
# The one that may change with every step.
_RAMPED: Setting = "masked_lm_prob"

_EXAMPLES: dict[Setting, str] = {
    "max_seq_length": "512 or 128:0.9,512",
    "masked_lm_prob": "0.15, 0.3:0.5,0.15 or 0.30..0.15",
    "kept_share": "0.1 or 0.4:0.8,0.1",
    "masked_words": "alike or by-rarity",
    "sentence_task": "sop, nsp or none",
}

# Steps of a run that represents runs of any length.
_MANY_STEPS = 1000

_STAGE = re.compile(r"(?P<first>[^:,]+?)(\.\.(?P<last>[^:,]+))?(:(?P<share>[0-9.]+))?")


class Stage(NamedTuple):
    """What a setting is for some steps.

    Attributes:
        first: Its value at the first of them.
        last: Its value at the last; the same unless it changes with every step.
        start: The share of the steps of the run that come before.
        end: The share that has passed after them.
    """

    first: Any
    last: Any
    start: float
    end: float


class Ramp(NamedTuple):
    """A share of tokens to predict that changes from a step to another."""

    first: float
    last: float
    first_step: int
    last_step: int

    def at(self, steps: Any) -> Any:
        """The share at a step, or those at an array of them.

        >>> Ramp(0.3, 0.1, first_step=0, last_step=4).at(1)
        0.25
        """
        passed = (steps - self.first_step) / (self.last_step - self.first_step)
        return self.first + (self.last - self.first) * passed


@dataclasses.dataclass(frozen=True)
class Phase:
    """Steps of a run whose examples have the same settings.

    Attributes:
        first_step: The steps before it.
        ramp: How the share of tokens to predict changes meanwhile, if it does.
    """

    first_step: int
    config: ResolvedDataConfig
    ramp: Ramp | None = None


def parse_schedule(text: str, setting: Setting) -> tuple[Stage, ...]:
    """The stages of a value or schedule as it was typed.

    >>> for stage in parse_schedule("128:0.9,512", "max_seq_length"):
    ...     print(stage)
    Stage(first=128, last=128, start=0.0, end=0.9)
    Stage(first=512, last=512, start=0.9, end=1.0)
    """
    parts = text.split(",")
    stages, start = [], 0.0
    for number, part in enumerate(parts, start=1):
        found = _STAGE.fullmatch(part.strip())
        is_last = number == len(parts)
        if found is None or is_last == (found["share"] is not None):
            raise _unparsed(text, setting)
        kind = SETTINGS[setting]
        try:
            first = kind(found["first"])
            last = first if found["last"] is None else kind(found["last"])
            end = 1.0 if is_last else round(start + float(found["share"]), 9)
        except ValueError:
            raise _unparsed(text, setting) from None
        if not start < end <= 1 or (end == 1 and not is_last):
            raise SettingError(
                f"{flag_name(setting)} {text!r}: each share must be more than 0 and "
                "their sum less than 1; the rest of the steps has the last value."
            )
        stages.append(Stage(first, last, start, end))
        start = end
    if setting != _RAMPED and any(stage.first != stage.last for stage in stages):
        raise SettingError(
            f"{flag_name(setting)} {text!r}: only {flag_name(_RAMPED)} can change with "
            f"every step; give something like {_EXAMPLES[setting]}."
        )
    if setting == "sentence_task" and len(stages) > 1:
        raise SettingError(
            f"{flag_name(setting)} {text!r}: a model has one sentence task; give one value."
        )
    return tuple(stages)


def _unparsed(text: str, setting: Setting) -> SettingError:
    return SettingError(
        f"{flag_name(setting)} {text!r} is neither a value nor a schedule; give "
        f"something like {_EXAMPLES[setting]}."
    )


def given(train: TrainConfig) -> dict[Setting, str]:
    """The settings of the examples that a run does not take from its data."""
    values = {setting: getattr(train, setting) for setting in SETTINGS}
    return {setting: value for setting, value in values.items() if value is not None}


def phases_of(data: ResolvedDataConfig, train: TrainConfig) -> tuple[Phase, ...]:
    """The phases of a run; the settings of its data hold where it gives no others."""
    schedules = {setting: parse_schedule(text, setting) for setting, text in given(train).items()}
    starts = {0} | {
        round(stage.start * train.steps)
        for stage in itertools.chain.from_iterable(schedules.values())
    }
    phases = []
    for step in sorted(starts):
        stages = {
            setting: next(s for s in schedule[::-1] if round(s.start * train.steps) <= step)
            for setting, schedule in schedules.items()
        }
        config, ramp = _settings_of(data, stages), None
        masked = stages.get(_RAMPED)
        if masked is not None and masked.first != masked.last:
            first, end = (round(s * train.steps) for s in (masked.start, masked.end))
            ramp = Ramp(masked.first, masked.last, first, max(first + 1, end - 1))
        phases.append(Phase(step, config, ramp))
    return tuple(phases)


def _settings_of(data: ResolvedDataConfig, stages: dict[Setting, Stage]) -> ResolvedDataConfig:
    """The settings in which each one given has one of its stages."""
    if not stages:
        return data
    least, values = (
        {setting: choose(p.first, p.last) for setting, p in stages.items()} for choose in (min, max)
    )
    # Checks its bounds too.
    dataclasses.replace(data, **least, max_predictions_per_seq=1)
    config = dataclasses.replace(data, **values, max_predictions_per_seq=1)
    predictions = config.derived_predictions
    if not values.keys() & {"max_seq_length", "masked_lm_prob"}:
        predictions = data.max_predictions_per_seq
    return dataclasses.replace(config, max_predictions_per_seq=predictions)


class Sample(NamedTuple):
    """Representative settings for a share of the steps of a run.

    Attributes:
        is_sampled: Whether these steps may have a sampled softmax.
    """

    share: float
    config: ResolvedDataConfig
    is_sampled: bool = False


def mean_length(config: ResolvedDataConfig, *, data: ResolvedDataConfig, length: float) -> int:
    """Tokens in an average example that is made with other settings than the data's.

    >>> from schemas.config import DataConfig
    >>> data = DataConfig(max_seq_length=512).resolved(input_bytes=0)
    >>> shorter = DataConfig(max_seq_length=128).resolved(input_bytes=0)
    >>> mean_length(shorter, data=data, length=470.0)
    118
    """
    return round(length * config.max_seq_length / data.max_seq_length)


def samples_of(data: ResolvedDataConfig, train: TrainConfig) -> Iterator[Sample]:
    """Settings that the examples have in parts of a run.

    A share of tokens to predict that changes with every step is taken twice, a quarter
    from its beginning and from its end.

    >>> from schemas.config import DataConfig
    >>> data = DataConfig(examples="on-the-fly").resolved(input_bytes=0)
    >>> train = TrainConfig(masked_lm_prob="0.30..0.10", max_seq_length="128:0.9,512")
    >>> for share, config, _ in samples_of(data, train):
    ...     print(f"{share:.3f} {config.max_seq_length} {config.masked_lm_prob:.2f}")
    0.450 128 0.25
    0.450 128 0.16
    0.050 512 0.11
    0.050 512 0.10
    """
    # Without a warm-up, which may take more steps than these.
    train = dataclasses.replace(train, steps=_MANY_STEPS, warmup_steps=0)
    phases = phases_of(data, train)
    ends = [*(phase.first_step for phase in phases[1:]), _MANY_STEPS]
    sampled = train.sampled_steps
    for phase, end in zip(phases, ends, strict=True):
        bound = min(max(phase.first_step, sampled), end)
        for first, last in ((phase.first_step, bound), (bound, end)):
            if first == last:
                continue
            share, is_sampled = (last - first) / _MANY_STEPS, first < sampled
            if phase.ramp is None:
                yield Sample(share, phase.config, is_sampled)
                continue
            for quarter in (0.25, 0.75):
                masked = phase.ramp.at(first + quarter * (last - first))
                config = dataclasses.replace(phase.config, masked_lm_prob=masked)
                yield Sample(share / 2, config, is_sampled)


class Bound(NamedTuple):
    """The last step up to which a quantity is independent of --steps."""

    step: int
    what: str


def first_bound(config: TrainConfig) -> Bound:
    """How many steps of a run are the same if it is given more or fewer of them.

    >>> first_bound(TrainConfig(steps=4000, warmup_steps=100)).step
    100
    >>> first_bound(TrainConfig(steps=4000, schedule="constant-cooldown")).step
    3200
    """
    is_linear = config.schedule == "linear"
    rates = config.warm_up if is_linear else config.cooldown_start
    bounds = [Bound(rates, "its learning rates depend")]
    for setting, text in given(config).items():
        stage, *others = parse_schedule(text, setting)
        if stage.first != stage.last:
            bounds.append(Bound(0, "the settings of its examples depend"))
        elif others:
            end = round(stage.end * config.steps)
            bounds.append(Bound(end, "the settings of its examples depend"))
    return min(bounds)
