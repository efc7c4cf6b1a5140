"""The backends that compute the steps, each imported only when it is used."""

from collections.abc import Callable

import keras

from albert_tf.model.pretrainer import AlbertPretrainer, Batch
from albert_tf.training.optimizers import optimizer_of
from albert_tf.training.steps import Array, OfModel, TrainingSteps
from schemas.config import TrainConfig
from schemas.errors import SettingError


def training_steps(model: AlbertPretrainer, config: TrainConfig) -> TrainingSteps:
    """The steps of the backend that Keras runs on, over all local devices.

    Args:
        model: With the weights that training starts from.
        config: The settings.

    Raises:
        SettingError: Nothing can be trained on that backend.
    """
    optimizer = optimizer_of(config)
    if backend() == "jax":
        from albert_tf.training.jax_steps import JaxSteps

        return JaxSteps(model, optimizer=optimizer, seed=config.seed)
    from albert_tf.training.tensorflow_steps import TensorFlowSteps

    return TensorFlowSteps(model, optimizer=optimizer, seed=config.seed, xla=config.xla)


def compiled(function: OfModel, model: AlbertPretrainer) -> Callable[[Batch], Array]:
    """Compile a function of a model and a batch `[B, ...]`.

    Returns:
        A function of the batch alone, with the model's weights as they are at the call.

    Raises:
        SettingError: Nothing can be trained on the backend that Keras runs on.
    """
    if backend() == "jax":
        from albert_tf.training import jax_steps

        return jax_steps.compiled(function, model)
    from albert_tf.training import tensorflow_steps

    return tensorflow_steps.compiled(function, model)


def backend() -> str:
    """The name of the backend that Keras runs on.

    Raises:
        SettingError: Nothing can be trained on it.
    """
    name: str = keras.backend.backend()
    if name not in ("tensorflow", "jax"):
        raise SettingError(f"KERAS_BACKEND must be tensorflow or jax, not {name}.")
    return name
