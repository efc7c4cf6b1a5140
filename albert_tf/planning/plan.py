"""What a run will take, by arithmetic, beside the BERT of the same shape."""

import dataclasses
from typing import Any

from albert_tf.model.parameters import count_encoder_parameters, count_parameters
from albert_tf.planning.cost import (
    activation_bytes,
    counting_bytes,
    forward_flops,
    predictions_of,
    same_shape_bert,
    state_bytes,
    training_flops,
)
from schemas.architecture import PRESETS, ModelConfig
from schemas.config import ResolvedDataConfig, TrainConfig

# Operations a second of dense bfloat16 products, by the vendors' data sheets, and the
# share of them that well-made training reaches.
PEAK_FLOPS = {"H100": 989e12, "A100": 312e12}
SHARE_OF_PEAK = 0.4

# The fields of an architecture that follow from the data and not from its shape.
OF_DATA = ("vocab_size", "sentence_task", "max_position_embeddings")


@dataclasses.dataclass(frozen=True)
class Machine:
    """A computer, and the operations a second that it sustains in training."""

    name: str
    flops: float


def plan(
    config: ModelConfig,
    data: ResolvedDataConfig,
    train: TrainConfig,
    machines: list[Machine],
    *,
    length: int,
) -> dict[str, Any]:
    """All figures of a run, as one JSON object.

    Args:
        data: Gives the length S and the predictions P of the longest example.
        machines: For which the time is estimated.
        length: Tokens in an average example; padding is not computed.
    """
    bert = same_shape_bert(config)
    name = preset_name(config) or "this model"
    costs = {name: cost(config, data, train, length=length)}
    if bert != config:
        name = preset_name(bert) or "its BERT"
        costs[name] = cost(bert, data, train, length=length)
    sequences = train.steps * train.batch_size
    return {
        "max_seq_length": data.max_seq_length,
        "max_predictions_per_seq": data.max_predictions_per_seq,
        "precision": train.precision,
        "steps": train.steps,
        "batch_size": train.batch_size,
        "sequences": sequences,
        "mean_length": length,
        "tokens": sequences * length,
        "models": costs,
        "days": {
            machine.name: {
                name: of_model["training_flops"] / machine.flops / 86400
                for name, of_model in costs.items()
            }
            for machine in machines
        },
    }


def cost(
    config: ModelConfig, data: ResolvedDataConfig, train: TrainConfig, *, length: int
) -> dict[str, Any]:
    """What one architecture costs; operations are of one token, or of the whole run."""
    mean = {"length": length, "predictions": predictions_of(data, length)}
    longest = {
        "length": data.max_seq_length,
        "predictions": data.max_predictions_per_seq,
    }
    forward = forward_flops(config, **mean)
    sequence, recomputed = (
        training_flops(config, **mean, recompute=again) for again in (False, True)
    )
    kept, kept_recomputed = (
        activation_bytes(config, **longest, precision=train.precision, recompute=again)
        for again in (False, True)
    )
    return {
        "architecture": dataclasses.asdict(config),
        "parameters": sum(count_parameters(config).values()),
        "encoder_parameters": count_encoder_parameters(config),
        "forward_flops": sum(forward.values()) / length,
        "step_flops": sequence / length,
        "step_flops_recomputed": recomputed / length,
        "state_bytes": state_bytes(config),
        "counting_bytes": counting_bytes(config, length=data.max_seq_length),
        "activation_bytes": kept,
        "activation_bytes_recomputed": kept_recomputed,
        "training_flops": train.steps * train.batch_size * sequence,
    }


def preset_name(config: ModelConfig) -> str | None:
    """The preset with these widths, depth and sharing, whatever its vocabulary.

    >>> preset_name(same_shape_bert(ModelConfig(vocab_size=8000)))
    'bert-base'
    """
    of_data = {field: getattr(config, field) for field in OF_DATA}
    for name, preset in PRESETS.items():
        if dataclasses.replace(preset, **of_data) == config:
            return name
    return None


def accelerators() -> list[Machine]:
    """Two accelerators that many know, at a share of their peak."""
    return [
        Machine(
            f"{name}, bfloat16, {SHARE_OF_PEAK:.0%} of {peak / 1e12:.0f} TFLOP/s",
            SHARE_OF_PEAK * peak,
        )
        for name, peak in PEAK_FLOPS.items()
    ]
