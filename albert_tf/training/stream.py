"""The steps of pretraining as they are read: without padding, with what they predict among."""

import contextlib
from collections.abc import Generator

import numpy as np
import numpy.typing as npt

from albert_tf.data.input_pipeline import StepShape, in_advance, training_batches
from albert_tf.data.on_the_fly import Landmark, Landmarks
from albert_tf.model.pretrainer import Batch
from albert_tf.model.sampled_softmax import Candidates, Sampler, num_candidates
from albert_tf.model.unpadding import Fill, Sizes, fill_of, unpadded
from albert_tf.training.first_weights import label_log_shares
from albert_tf.training.loop import StepParts
from albert_tf.training.run import ResolvedRun, RunState
from albert_tf.training.steps import pretraining_counts
from schemas.phases import first_bound


class Stream:
    """The steps of a run from where it stands, in order.

    Args:
        num_devices: N, of this host.

    Attributes:
        run: It may get another number of steps between two of them.
        landmarks: Where reading can begin to reach an example.
        num_candidates: Tokens that a sampled softmax predicts among; None without one.
    """

    def __init__(self, run: ResolvedRun, state: RunState, *, num_devices: int) -> None:
        self.run, self._state, self._devices = run, state, num_devices
        self.landmarks = Landmarks()
        self.num_candidates = num_candidates(run.model_config, run.config, run.manifest.config)
        # Once labels are counted.
        self._sampler: Sampler | None = None

    def is_sampled(self, step: int) -> bool:
        """Whether a step, from 0, predicts among candidates alone."""
        return self.num_candidates is not None and step < self.run.config.sampled_steps

    def sizes(self) -> Sizes:
        """The sizes that micro-batches have without padding."""
        return self.run.records().sizes(self._state.micro_batch_size)

    def steps(self) -> Generator[StepParts, None, None]:
        """Each step in turn.

        Another number of steps leaves the next ones as they are, so reading goes on up to
        the first that depends on it.
        """
        state, step, config = self._state, self._state.step, self.run.config
        seed, hosts = config.seed, self.run.hosts
        if self.num_candidates and self.is_sampled(step):
            vocab_size = self.run.model_config.vocab_size
            log_shares = label_log_shares(self.run.records(), vocab_size, seed=seed)
            self._sampler = Sampler(number=self.num_candidates, log_shares=log_shares, seed=seed)
        shape = StepShape(
            config.batch_size,
            state.micro_batch_size,
            devices=self._devices,
            host=hosts.index,
            num_hosts=hosts.number,
        )
        while True:
            run, bound = self.run, first_bound(self.run.config).step
            records = run.records()
            self.landmarks = records.landmarks
            batches = training_batches(
                records,
                shape,
                seed=seed,
                # A step may be on its way.
                start=state.examples + (step - state.step) * shape.batch_size,
                landmark=Landmark(*state.landmark),
            )
            steps = self._without_padding(batches, first=step, sizes=self.sizes())
            # What hosts tell each other they have to tell in the same order.
            with contextlib.closing(steps if hosts.number > 1 else in_advance(steps)) as found:
                while self.run is run or step < bound:
                    yield next(found)
                    step += 1
                    bound = min(bound, first_bound(self.run.config).step)

    def _without_padding(
        self, batches: Generator[Batch, None, None], *, first: int, sizes: Sizes
    ) -> Generator[StepParts, None, None]:
        """Batches as steps; hosts and devices compute one in the same shapes."""
        devices, hosts = self._devices, self.run.hosts
        with contextlib.closing(batches):
            for step, batch in enumerate(batches, first):
                parts = [
                    {name: v[micro : micro + devices] for name, v in batch.items()}
                    for micro in range(0, len(batch["input_ids"]), devices)
                ]
                fills = hosts.gather(np.ravel([fill_of(part) for part in parts]))
                agreed = fills.max(axis=0).astype(int).reshape(-1, 2).tolist()
                made = [
                    unpadded(part, Fill(*fill), sizes=sizes)
                    for part, fill in zip(parts, agreed, strict=True)
                ]
                if candidates := self._candidates(batch, step):
                    made = [candidates.batch(part) for part in made]
                own = pretraining_counts(batch)
                counts = hosts.gather(np.array([*own.values()])).sum(axis=0)
                yield StepParts(dict(zip(own, counts.tolist(), strict=True)), made)

    def _candidates(self, batch: Batch, step: int) -> Candidates | None:
        """Those of a step on all hosts; None for the whole vocabulary."""
        if not self.is_sampled(step):
            return None
        assert self._sampler is not None, "made before the examples are read"

        def of_all(ids: str, mask: str) -> npt.NDArray[np.int_]:
            found = self.run.hosts.gather(np.where(batch[mask] > 0, batch[ids], -1).ravel())
            return found[found >= 0].astype(int)

        labels = of_all("masked_lm_ids", "masked_lm_weights")
        return self._sampler.draw(labels, shown=of_all("input_ids", "input_mask"), step=step)
