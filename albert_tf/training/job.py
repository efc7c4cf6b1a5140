"""What a training is to do: which model, on which data, with which settings."""

import dataclasses
from pathlib import Path

from albert_tf.data.input_pipeline import Records
from albert_tf.evaluation.words import Vocabulary
from albert_tf.hosts.hosts import ONE_HOST, Hosts
from schemas.config import ModelConfig, ResolvedTrainConfig, TrainConfig
from schemas.manifest import DatasetManifest
from schemas.phases import Phase, phases_of


@dataclasses.dataclass(frozen=True, kw_only=True)
class Job:
    """What `pretrain` is asked to do.

    Attributes:
        model_config: The architecture.
        config: The settings.
        manifest: Of the data set.
        data: Its directory.
        run: The run directory.
        init_from: The run whose weights a new one starts from; None for weights of its
            own.
        starts_trained: Whether the run began with the weights of another, `init_from`
            or, if it goes on, the one it once had.
        vocabulary: That of the data, to ask about words in evaluations; None not to.
        hosts: Those that train together, with the same settings; the first alone reads
            and writes `run` and reads `init_from`.
    """

    model_config: ModelConfig
    config: ResolvedTrainConfig
    manifest: DatasetManifest
    data: Path
    run: Path
    init_from: Path | None = None
    starts_trained: bool = False
    vocabulary: Vocabulary | None = None
    hosts: Hosts = ONE_HOST

    @property
    def is_writer(self) -> bool:
        """Whether this host is the first, which reads and writes the run."""
        return self.hosts.index == 0

    @property
    def phases(self) -> tuple[Phase, ...]:
        """Of the training examples; one unless they are made on the fly."""
        return phases_of(self.manifest.config, self.config)

    def records(self) -> Records:
        """The records of its data."""
        return records_of(self.data, self.manifest, self.config)


def records_of(data: Path, manifest: DatasetManifest, config: TrainConfig) -> Records:
    """The records of a data set for a training with these settings."""
    phases = phases_of(manifest.config, config) if manifest.has_documents else ()
    return Records(data, manifest, phases=phases)
