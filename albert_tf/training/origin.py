"""What a run starts from: the weights of another run, or all of its state."""

import dataclasses
from pathlib import Path

from albert_tf.runs.checkpoints import Which
from schemas.errors import SettingError


@dataclasses.dataclass(frozen=True, kw_only=True)
class Origin:
    """What a run takes over from another.

    Attributes:
        run: The other run.
        which: Which of its checkpoints.
        keeps_optimizer: Whether to go on with its optimizer state, after its last step.

    Raises:
        SettingError: Its optimizer state is to be kept of another checkpoint than the
            newest.
    """

    run: Path
    which: Which = "latest"
    keeps_optimizer: bool = False

    def __post_init__(self) -> None:
        if self.keeps_optimizer and self.which == "best":
            raise SettingError(
                "--keep-optimizer continues from the newest checkpoint of a run; leave "
                "out one of --keep-optimizer and --init-checkpoint best."
            )
