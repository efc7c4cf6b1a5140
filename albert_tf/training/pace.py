"""How fast a run trains, to say what it does in a second and how long it will take."""

import dataclasses
from collections import deque
from statistics import fmean, median

from schemas.readable import percent, rounded

# Waiting for data is worth mentioning from this share of the time on.
MUCH_WAITING = 0.1

# The newest steps, of which each time is kept.
NEWEST = 2000

# A step that took this many times the median compiled something.
COMPILING = 3.0


@dataclasses.dataclass
class Pace:
    """The speed of this process; evaluations and checkpoints do not count.

    Attributes:
        batch_size: Sequences in a step.
        estimate: The seconds of a step, until one is done.
        steps: Steps done by this process.
        seconds: Time spent in them.
        waiting_seconds: How much of that was waiting for data.
        newest: The seconds of each of the newest steps.
    """

    batch_size: int
    estimate: float = 0.0
    steps: int = 0
    seconds: float = 0.0
    waiting_seconds: float = 0.0
    newest: deque[float] = dataclasses.field(
        default_factory=lambda: deque(maxlen=NEWEST)
    )

    def add(self, seconds: float, *, waited: float) -> None:
        """Count a step."""
        self.steps += 1
        self.seconds += seconds
        self.waiting_seconds += waited
        self.newest.append(seconds)

    @property
    def step_seconds(self) -> float:
        """What a step takes."""
        return self.seconds / self.steps if self.steps else self.estimate

    @property
    def settled_seconds(self) -> float:
        """What a step takes when nothing is left to compile.

        >>> pace = Pace(batch_size=8)
        >>> for seconds in (9.0, 1.0, 2.0, 1.0, 2.0):
        ...     pace.add(seconds, waited=0.0)
        >>> pace.step_seconds, pace.settled_seconds
        (3.0, 1.5)
        """
        most = COMPILING * median(self.newest)
        return fmean(seconds for seconds in self.newest if seconds <= most)

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
