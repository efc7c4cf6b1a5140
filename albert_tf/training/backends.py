"""The backends that compute the steps, each imported only when it is used."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from albert_tf.evaluation.compiled import Weighted, backend
from albert_tf.hosts.host_setting import HostSetting
from albert_tf.hosts.hosts import Hosts
from albert_tf.training.optimizers import optimizer_of
from albert_tf.training.steps import (
    PRETRAINING,
    TrainingLoss,
    TrainingSteps,
)
from schemas.config import TrainConfig
from schemas.errors import SettingError


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


def joined_hosts(
    setting: HostSetting, *, say_last: Callable[[str], None]
) -> AbstractContextManager[Hosts]:
    """Training together with other hosts, which are joined while a block runs.

    Args:
        setting: Which host this is.
        say_last: Shows a sentence of a process that is being aborted.

    Raises:
        SettingError: The backend that Keras runs on cannot do it.
    """
    if backend() != "jax":
        raise SettingError(
            f"Several hosts train together on JAX only: set KERAS_BACKEND=jax on each "
            f"of the {setting.num_hosts}, or give --num-hosts 1 to train alone."
        )
    from albert_tf.hosts import jax_hosts

    return jax_hosts.joined(setting, say_last=say_last)
