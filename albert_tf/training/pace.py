"""How fast a run trains, to say what it does in a second and how long it will take."""

import dataclasses

from schemas.readable import percent, rounded

# Waiting for data is worth a word from this share of the time on.
MUCH_WAITING = 0.1


@dataclasses.dataclass
class Pace:
    """The speed of this process; evaluations and checkpoints do not count.

    Attributes:
        batch_size: Sequences in a step.
        estimate: The seconds of a step, as long as none was done.
        steps: Steps done by this process.
        seconds: Time spent in them.
        waiting_seconds: How much of that was waiting for data.
    """

    batch_size: int
    estimate: float = 0.0
    steps: int = 0
    seconds: float = 0.0
    waiting_seconds: float = 0.0

    def add(self, seconds: float, *, waited: float) -> None:
        """Count a step."""
        self.steps += 1
        self.seconds += seconds
        self.waiting_seconds += waited

    @property
    def step_seconds(self) -> float:
        """What a step takes."""
        return self.seconds / self.steps if self.steps else self.estimate

    def text(self) -> str:
        """The rate, and the share of time spent waiting for data if it is large.

        >>> pace = Pace(batch_size=8, steps=2, seconds=4.0, waiting_seconds=1.0)
        >>> pace.text()
        '4 seq/s, 25.0% of the time waiting for data'
        """
        text = f"{rounded(self.batch_size / self.step_seconds)} seq/s"
        share = self.waiting_seconds / self.seconds
        if share < MUCH_WAITING:
            return text
        return f"{text}, {percent(share)} of the time waiting for data"
