"""What makes a training impossible, said before anything is written or removed."""

from pathlib import Path

from albert_tf.data.data_check import (
    check_has_training_examples,
    check_has_vocabulary,
    check_model_fits,
    check_settings_fit,
    check_shards_are_whole,
)
from albert_tf.evaluation.compiled import backend
from albert_tf.training.job import Job
from albert_tf.training.warm_start import read_source, starting_weights
from schemas.config import OF_FIRST_WEIGHTS, ModelConfig, TrainConfig, flag_name
from schemas.errors import SettingError
from schemas.manifest import DatasetManifest


def check_run(job: Job) -> None:
    """Refuse a run that cannot work before anything is written or removed.

    Nothing in the run directory is read: it may be about to be overwritten.

    Raises:
        AlbertError: Names what does not fit and the remedy.
    """
    backend()
    check_can_recompute(job.config)
    check_data(job.model_config, job.config, manifest=job.manifest, data=job.data)
    if job.init_from is not None:
        check_sets_no_weights(job.config)
        source = read_source(job.init_from, manifest=job.manifest, data=job.data)
        starting_weights(job.model_config, source)


def check_data(
    model_config: ModelConfig,
    config: TrainConfig,
    *,
    manifest: DatasetManifest,
    data: Path,
) -> None:
    """Refuse a data set that a model with these settings cannot be trained on.

    Raises:
        AlbertError: Names what does not fit and the remedy.
    """
    check_model_fits(model_config, manifest, data=data)
    check_settings_fit(config, model_config, manifest, data=data)
    check_has_training_examples(manifest, data=data)
    check_has_vocabulary(data)
    check_shards_are_whole(manifest, data=data)


def check_sets_no_weights(config: TrainConfig) -> None:
    """Refuse first weights for a run that takes all of them from another.

    Raises:
        SettingError: Names the setting.
    """
    for name in OF_FIRST_WEIGHTS:
        if getattr(config, name):
            raise SettingError(
                f"{flag_name(name)} sets first weights and --init-from takes all of "
                "them from another run; leave one of them out."
            )


def check_can_recompute(config: TrainConfig) -> None:
    """Refuse recomputation that XLA would undo: it computes equal things once.

    Raises:
        SettingError: Names the remedy.
    """
    if not config.recompute:
        return
    if backend() == "tensorflow":
        if config.xla:
            raise SettingError(
                "--xla undoes --recompute on TensorFlow; leave one of them out."
            )
        return
    import jax

    if jax.default_backend() == "cpu":
        raise SettingError(
            "--recompute saves nothing with JAX on a CPU; leave it out, or unset "
            "KERAS_BACKEND."
        )
