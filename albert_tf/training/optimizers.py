"""LAMB and AdamW as google-research/albert and BERT have them, Muon, and their rates.

Linear is google-research/albert's schedule. With `constant-cooldown` (Hägele et al.,
2405.18392) no rate before the cooldown depends on the number of steps, so that a run
may be given more of them.

A run continues with the same settings, so that it ends with the same bytes wherever it
was stopped. Its micro-batch may change, which affects only rounding, and its number of
steps, as long as no finished step depends on it.

A further optimizer is one more function of a weight and its state, and one more line of
`OPTIMIZERS`. Their constants are settings, whose defaults are the published ones.

`keras.optimizers.Lamb` is another algorithm (You et al., 1904.00962): it corrects the
bias of the moments, decays weights outside the trust ratio, adapts biases and layer
normalisation too, and has another epsilon.
"""

import dataclasses
import enum
import math
import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from keras import ops

from albert_tf.runs.checkpoints import newest_step
from schemas.config import Precision, ResolvedTrainConfig, TrainConfig, flag_name
from schemas.errors import SettingError
from schemas.phases import first_bound

# The batch that the default learning rate is meant for.
PAPER_BATCH_SIZE = TrainConfig().batch_size

# What the rates of a schedule depend on from its cooldown on.
OF_COOLDOWN = ("steps", "cooldown_share")


def learning_rate_of(config: ResolvedTrainConfig, step: int) -> float:
    """The learning rate of a step of a run.

    Both warm-up and linear decay are counted from step 0, as published
    (`optimization.py`): the first step of a warm-up has rate 0, and at its end the rate
    drops from almost the peak to `1 - warmup_steps / steps` of it.

    >>> config = TrainConfig(learning_rate=1.0, steps=10, warmup_steps=2).resolved()
    >>> [learning_rate_of(config, step) for step in (0, 1, 2, 9)]
    [0.0, 0.5, 0.8, 0.1]
    """
    peak, warmup_steps = peak_learning_rate(config), config.warmup_steps
    if step < warmup_steps:
        return peak * step / warmup_steps
    if config.schedule == "linear":
        return peak * (config.steps - step) / config.steps
    start = config.cooldown_start
    peak *= inverse_root(min(step, start), constant_steps=config.constant_steps)
    return cooldown(step, peak=peak, start=start, steps=config.steps)


def inverse_root(step: int, *, constant_steps: int | None) -> float:
    """The share of a rate that is left when it falls with the root of the step.

    Source: Zhai et al. 2022, 2106.04560, whose long runs share one beginning too.

    Args:
        step: From 0.
        constant_steps: Those with all of it; None for all steps.

    >>> [inverse_root(step, constant_steps=100) for step in (10, 100, 400)]
    [1.0, 1.0, 0.5]
    """
    if constant_steps is None or step <= constant_steps:
        return 1.0
    return math.sqrt(constant_steps / step)


def cooldown(step: int, *, peak: float, start: int, steps: int) -> float:
    """The peak up to a step, then 1 - sqrt of the share of the cooldown that is done.

    Source: Hägele et al., 2405.18392, where this form beat the linear one.

    >>> [cooldown(s, peak=1.0, start=4, steps=8) for s in (0, 4, 5, 8)]
    [1.0, 1.0, 0.5, 0.0]
    """
    if step < start:
        return peak
    return peak * (1 - math.sqrt((step - start) / (steps - start)))


def peak_learning_rate(config: TrainConfig) -> float:
    """The highest rate of a run, scaled to its batch if that was asked for.

    The square-root rule of You et al., 1904.00962: 0.00176 at 4096 is 0.005 at 32768.
    """
    if not config.scale_lr_to_batch:
        return config.learning_rate
    return config.learning_rate * math.sqrt(config.batch_size / PAPER_BATCH_SIZE)


def continued(now: TrainConfig, begun: TrainConfig) -> TrainConfig:
    """The settings given, completed by what the run has where they would derive it.

    A warm-up derived from other steps would be another one, and evaluations on another
    number of examples would not compare.

    >>> begun = TrainConfig(steps=4000, schedule="constant-cooldown", warmup_steps=100)
    >>> longer = TrainConfig(steps=8000, schedule="constant-cooldown")
    >>> continued(longer, begun).warmup_steps
    100
    """
    kept: dict[str, int] = {}
    micro, warmup = begun.micro_batch_size, begun.resolved().warmup_steps
    if now.micro_batch_size is None and micro and micro <= now.batch_size:
        kept["micro_batch_size"] = micro
    is_derived = now.resolved().warmup_steps == warmup
    examples = begun.resolved().eval_examples
    if now.eval_examples is None and now.resolved().eval_examples != examples:
        kept["eval_examples"] = examples
    if now.warmup_steps is None and not is_derived and warmup <= now.cooldown_start:
        kept["warmup_steps"] = warmup
    return dataclasses.replace(now, **kept)  # type: ignore[arg-type]


def check_steps_may_change(run: Path, before: TrainConfig, now: TrainConfig) -> None:
    """Refuse another number of steps where a step that is done depends on it.

    Args:
        before: The settings that the run has.
        now: The same but for `OF_COOLDOWN`.
    """
    deciding = ("steps",) if before.schedule == "linear" else OF_COOLDOWN
    if all(getattr(before, name) == getattr(now, name) for name in deciding):
        return
    step = newest_step(run) or 0
    bound = min(first_bound(before), first_bound(now))
    if step <= bound.step:
        return
    changed = [n for n in deciding if getattr(before, n) != getattr(now, n)]
    flags = " and ".join(map(flag_name, changed))
    kept = " and ".join(f"{flag_name(n)} {getattr(before, n)}" for n in changed)
    raise SettingError(
        f"{run} is at step {step} of {before.steps} and cannot change {flags}: after "
        f"step {bound.step} {bound.what} on {'them' if 'steps' in changed else 'it'}; "
        f"keep {kept}, or begin another run with its weights: another --output with "
        f"--init-from {shlex.quote(str(run))}."
    )


Tensor = Any
# The tensors that an optimizer keeps for one weight.
State = tuple[Tensor, ...]

_EXCLUDED = re.compile("layer_norm|bias")

# Muon: how much of the momentum of a kernel is kept, and how large the steps of AdamW are
# (Jordan 2024; Liu et al. 2025, 2502.16982).
MOMENTUM, SIZE_OF_ADAMW = 0.95, 0.2

# The polynomials a x + b x^3 + c x^5 that take the singular values of a matrix, from 0.003
# of its norm on, to between 0.75 and 1.25: each is the best for what those before it leave
# (Amsel et al. 2025, 2505.16932), but the last for values 1.03 times as large, since a value
# that bfloat16 rounds beyond what a polynomial is made for would grow without end.
POLYNOMIALS = (
    (8.1395, -22.6643, 15.8350),
    (3.9328, -2.7627, 0.4926),
    (3.4413, -2.4369, 0.4592),
    (2.5654, -1.9151, 0.4536),
)


class Role(enum.Enum):
    """What kind of weight is updated."""

    KERNEL = "the matrix of a layer"
    TABLE = "embeddings"
    EXCLUDED = "left out of weight decay and of LAMB's trust ratio"


def role_of(path: str) -> Role:
    """The role of a weight.

    >>> role_of("albert/encoder/embeddings/layer_norm/gamma").name
    'EXCLUDED'
    >>> role_of("albert/encoder/pooler/kernel").name
    'KERNEL'
    >>> role_of("albert/encoder/embeddings/word_embeddings").name
    'TABLE'
    """
    if _EXCLUDED.search(path):
        return Role.EXCLUDED
    return Role.KERNEL if path.endswith("kernel") else Role.TABLE


class Scales(NamedTuple):
    """The numbers of an update that differ from step to step.

    Attributes:
        first: What the bias correction divides the first moment by.
        second: The same of the second moment.
    """

    learning_rate: Tensor
    first: Tensor
    second: Tensor


class Rule(NamedTuple):
    """What the update of one weight in one step goes by: settings, step and weight.

    Attributes:
        clipping: What its gradient is multiplied by first.
    """

    config: TrainConfig
    scales: Scales
    role: Role
    clipping: Tensor = 1.0


# What Adam and LAMB keep for every weight, by the names in checkpoints.
MOMENTS = ("m", "v")

# The next weight and its state, from weight, gradient and state; of Muon also those of N
# kernels of a shape side by side, `[N, R, C]`.
Update = Callable[[Tensor, Tensor, State, Rule], tuple[Tensor, State]]


def adam_direction(
    weight: Tensor, gradient: Tensor, moments: State, rule: Rule
) -> tuple[Tensor, State]:
    """The direction to step against, and the two moments after this step.

    As published, the bias of the moments is not corrected (`optimization.py`,
    `AdamWeightDecayOptimizer`), so the first steps of the excluded weights are
    0.1 / sqrt(0.001), that is about three, times as long as with the correction.
    """
    config, scales, role, clipping = rule
    (first, second), gradient = moments, clipping * gradient
    first = config.beta1 * first + (1 - config.beta1) * gradient
    second = config.beta2 * second + (1 - config.beta2) * gradient * gradient
    mean, square = first, second
    if config.bias_correction:
        mean, square = first / scales.first, second / scales.second
    direction = mean / (ops.sqrt(square) + config.epsilon)
    if role is not Role.EXCLUDED:
        direction = direction + config.weight_decay * weight
    return direction, (first, second)


def adamw_update(
    weight: Tensor, gradient: Tensor, moments: State, rule: Rule
) -> tuple[Tensor, State]:
    """One step of Adam with decoupled weight decay: the next weight and moments."""
    direction, moments = adam_direction(weight, gradient, moments, rule)
    return weight - rule.scales.learning_rate * direction, moments


def lamb_update(
    weight: Tensor, gradient: Tensor, moments: State, rule: Rule
) -> tuple[Tensor, State]:
    """One step of LAMB (`lamb_optimizer.py`): the next weight and moments.

    Adam's direction, weight decay included, is scaled to the norm of the weight, for
    each weight by itself.
    """
    direction, moments = adam_direction(weight, gradient, moments, rule)
    ratio = 1.0 if rule.role is Role.EXCLUDED else trust_ratio(weight, direction)
    return weight - rule.scales.learning_rate * ratio * direction, moments


def trust_ratio(weight: Tensor, direction: Tensor) -> Tensor:
    """Norm of the weight over norm of the direction; 1 where either is 0."""
    weight_norm, direction_norm = ops.norm(weight), ops.norm(direction)
    are_positive = ops.logical_and(weight_norm > 0, direction_norm > 0)
    divisor = ops.where(are_positive, direction_norm, 1.0)
    return ops.where(are_positive, weight_norm / divisor, 1.0)


def muon_update(
    weight: Tensor, gradient: Tensor, moments: State, rule: Rule
) -> tuple[Tensor, State]:
    """One step of Muon for a kernel, of AdamW for all else: next weight and moments.

    The momentum of a kernel is made orthogonal, so that all directions in it count
    alike, and scaled to the length of an AdamW step, so that AdamW's rates suit it.
    """
    if rule.role is not Role.KERNEL:
        return adamw_update(weight, gradient, moments, rule)
    (first,), gradient = moments, rule.clipping * gradient
    first = MOMENTUM * first + (1 - MOMENTUM) * gradient
    ahead = MOMENTUM * first + (1 - MOMENTUM) * gradient
    size = SIZE_OF_ADAMW * max(weight.shape[-2:]) ** 0.5
    turned = orthogonal(ahead, precision=rule.config.precision)
    direction = size * turned + rule.config.weight_decay * weight
    return weight - rule.scales.learning_rate * direction, (first,)


def orthogonal(matrices: Tensor, *, precision: Precision) -> Tensor:
    """Approximately U V' of each matrix U S V', `[..., R, C]`.

    A round for each of the `POLYNOMIALS`. Everything but products of matrices is done on the
    smaller, square matrices.

    Args:
        matrices: In float32, whatever the precision of the computation.
    """
    *_, rows, columns = matrices.shape
    wide = ops.swapaxes(matrices, -1, -2) if rows > columns else matrices
    norm = ops.sqrt(ops.sum(wide * wide, axis=(-2, -1), keepdims=True))
    x = ops.cast(wide / ops.maximum(norm, 1e-7), precision)
    identity = ops.eye(min(rows, columns), dtype=precision)
    for first, third, fifth in POLYNOMIALS:
        ones, threes = first * identity, third * identity
        square = ops.matmul(x, ops.swapaxes(x, -1, -2))
        x = ops.matmul(ones + ops.matmul(threes + fifth * square, square), x)
    x = ops.cast(x, "float32")
    return ops.swapaxes(x, -1, -2) if rows > columns else x


@dataclasses.dataclass(frozen=True)
class Optimizer:
    """How all weights are updated.

    Attributes:
        of_kernel: What the tensors are called that it keeps for a kernel, of its shape
            and 0 at first; for all else these are `MOMENTS`.
        config: The settings of the run, among them those of `update`.
    """

    update: Update
    of_kernel: tuple[str, ...]
    config: TrainConfig

    def scales(self, learning_rate: float, *, step: int) -> Scales:
        """The scales of a step, from 0.

        In the precision of Python: in float32 the first 1 - beta2^t would have an
        error of 1e-4. Moments are divided by 1 - beta^t in step t, from 1, as in Adam
        (1412.6980) and LAMB (1904.00962), where that was asked for.
        """
        if not self.config.bias_correction:
            return Scales(learning_rate, 1.0, 1.0)
        betas = (self.config.beta1, self.config.beta2)
        first, second = (1 - beta ** (step + 1) for beta in betas)
        return Scales(learning_rate, first, second)

    def state_paths(self, path: str) -> list[str]:
        """The paths of the state of one weight.

        >>> optimizer_of(TrainConfig()).state_paths("pooler/kernel")
        ['pooler/kernel/m', 'pooler/kernel/v']
        """
        names = self.of_kernel if role_of(path) is Role.KERNEL else MOMENTS
        return [f"{path}/{name}" for name in names]

    def zeros(self, weights: Mapping[str, Any], zeros_like: Callable[[Any], Any]) -> dict[str, Any]:
        """The state of weights before the first step, all by path."""
        return {
            state_path: zeros_like(weight)
            for path, weight in weights.items()
            for state_path in self.state_paths(path)
        }

    def step(
        self,
        weights: Mapping[str, Tensor],
        gradients: Mapping[str, Tensor],
        state: Mapping[str, Tensor],
        *,
        scales: Scales,
    ) -> tuple[Tensor, dict[str, Tensor], dict[str, Tensor]]:
        """Clip the gradients and update all weights once, each by its path.

        Returns:
            The norm of all gradients, as if they were one vector, before clipping; the
            next weights and their state.
        """
        norm = ops.sqrt(sum(ops.sum(each * each) for each in gradients.values()))
        limit = self.config.clip_norm
        clipping = limit / ops.maximum(norm, limit) if limit else 1.0
        next_weights: dict[str, Tensor] = {}
        next_state: dict[str, Tensor] = {}
        # Kernels of a shape side by side: a few large products take less time than many, and
        # much less to compile. What is no product would only be copied.
        alike: dict[Any, list[str]] = {}
        for path, weight in weights.items():
            is_product = self.config.optimizer == "muon" and role_of(path) is Role.KERNEL
            alike.setdefault(tuple(weight.shape) if is_product else path, []).append(path)
        for paths in alike.values():
            states = list(zip(*map(self.state_paths, paths), strict=True))
            together, values = self.update(
                _side_by_side([weights[path] for path in paths]),
                _side_by_side([gradients[path] for path in paths]),
                tuple(_side_by_side([state[name] for name in names]) for names in states),
                Rule(self.config, scales, role_of(paths[0]), clipping),
            )
            of_states = zip(states, values, strict=True)
            for found, names, value in (
                (next_weights, paths, together),
                *((next_state, names, value) for names, value in of_states),
            ):
                each = ops.unstack(value, len(names)) if len(names) > 1 else [value]
                found.update(zip(names, each, strict=True))
        return norm, next_weights, next_state


def _side_by_side(tensors: list[Tensor]) -> Tensor:
    return ops.stack(tensors) if len(tensors) > 1 else tensors[0]


# How one weight is updated, and what is kept for a kernel: of Muon its momentum alone.
OPTIMIZERS: dict[str, tuple[Update, tuple[str, ...]]] = {
    "lamb": (lamb_update, MOMENTS),
    "adamw": (adamw_update, MOMENTS),
    "muon": (muon_update, MOMENTS[:1]),
}


def optimizer_of(config: TrainConfig) -> Optimizer:
    """The optimizer that a run is trained with."""
    return Optimizer(*OPTIMIZERS[config.optimizer], config)
