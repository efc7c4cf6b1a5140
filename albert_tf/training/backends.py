"""The backends that compute the steps, each imported only when it is used."""

from typing import Any

from albert_tf.evaluation.compiled import Weighted, backend
from albert_tf.training.optimizers import optimizer_of
from albert_tf.training.steps import (
    PRETRAINING,
    TrainingLoss,
    TrainingSteps,
)
from schemas.config import TrainConfig


def training_steps(
    model: Weighted, config: TrainConfig, *, loss: TrainingLoss = PRETRAINING
) -> TrainingSteps:
    """The steps of the backend that Keras runs on, over all local devices.

    Args:
        model: With the weights that training starts from.
        config: The settings.
        loss: What is trained on.

    Raises:
        SettingError: Nothing can be trained on that backend.
    """
    settings: Any = {
        "optimizer": optimizer_of(config),
        "seed": config.seed,
        "loss": loss,
    }
    if backend() == "jax":
        from albert_tf.training.jax_steps import JaxSteps

        return JaxSteps(model, **settings)
    from albert_tf.training.tensorflow_steps import TensorFlowSteps

    return TensorFlowSteps(model, **settings, xla=config.xla)
