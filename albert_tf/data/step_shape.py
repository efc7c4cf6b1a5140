"""The shape of a step: its micro-batches, and those of them that a host computes."""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class StepShape:
    """How the examples of a step are divided.

    Attributes:
        batch_size: B, examples in a step.
        micro_batch_size: M.
        devices: N, how many micro-batches are computed at the same time on a host.
        host: Which of several hosts this is; it gets its micro-batches alone.
        num_hosts: H, how many there are.
    """

    batch_size: int
    micro_batch_size: int
    _: dataclasses.KW_ONLY
    devices: int = 1
    host: int = 0
    num_hosts: int = 1

    @property
    def micro_batches(self) -> int:
        """K, those of all hosts, as many for each device.

        >>> StepShape(257, 29).micro_batches
        9
        >>> StepShape(257, 29, devices=2).micro_batches
        10
        """
        at_once = self.devices * self.num_hosts
        return -(-self.batch_size // (self.micro_batch_size * at_once)) * at_once

    @property
    def own(self) -> list[int]:
        """Which of them the host computes, in their order.

        Those that are computed at the same time stand together, so that two hosts with
        a device each do what one does with two.

        >>> StepShape(8, 1, devices=2, host=1, num_hosts=2).own
        [2, 3, 6, 7]
        """
        places = np.arange(self.micro_batches).reshape(-1, self.num_hosts, self.devices)
        own: list[int] = places[:, self.host].ravel().tolist()
        return own
