"""How fast a run is, and how its steps and products of matrices are timed."""

import dataclasses
import types

import pytest

from albert_tf.data.input_pipeline import Records
from albert_tf.model.pretrainer import BATCH_FEATURES
from albert_tf.planning.cost import training_flops
from albert_tf.training import timing
from albert_tf.training.timing import Pace, ThisMachine, random_batch, step_seconds
from schemas.config import DataConfig, TrainConfig
from schemas.manifest import read_manifest
from tests.training_data import TINY

DATA = DataConfig(max_seq_length=16, max_predictions_per_seq=2).resolved(input_bytes=0)


class Steps:
    """Steps whose clock is told what each part takes."""

    num_devices = 2

    def __init__(self, clock, calls):
        self.clock, self.calls = clock, calls
        self.updates = iter([100.0, 3.0, 3.0, 3.0])

    def accumulate(self, batch, *, counts, step, micro):
        self.calls.append(({name: a.shape for name, a in batch.items()}, counts))
        self.clock[0] += 0.5

    def memory(self):
        return [None, None]

    def sums(self):
        self.calls.append("waited for")

    def apply(self, learning_rate, *, step):
        self.clock[0] += next(self.updates)
        return 0.0


def test_a_step_takes_its_micro_batches_on_all_devices_and_one_update(monkeypatch):
    clock, calls = [0.0], []
    steps = Steps(clock, calls)
    monkeypatch.setattr(timing, "training_steps", lambda *_: steps)
    monkeypatch.setattr(timing.time, "perf_counter", lambda: clock[0])
    train = TrainConfig(batch_size=40, micro_batch_size=4)
    assert step_seconds(TINY, DATA, train, length=8) == 5 * 0.5 + 3.0
    (shapes, counts), *_ = calls
    # The first one compiles, and counts for nothing.
    assert calls.count("waited for") == len(calls) // 2 == 3
    assert shapes["input_ids"] == (2, 4, 16)
    assert shapes["row_places"] == (2, 64)
    assert counts == {"mlm_count": 8.0, "sentence_count": 8.0, "piece_count": 64.0}


def test_a_real_step_takes_some_time(monkeypatch):
    monkeypatch.setattr(timing, "REPEAT_SECONDS", 0.0)
    train = TrainConfig(batch_size=4, precision="bfloat16")
    assert 0 < step_seconds(TINY, DATA, train, length=16) < 60


@pytest.mark.parametrize(
    ("rate", "asked", "precision"),
    [(4e11, None, "bfloat16"), (2.1e11, None, "float32"), (4e11, "float32", "float32")],
)
def test_steps_are_timed_in_the_number_format_that_pays(rate, asked, precision, small, monkeypatch):
    monkeypatch.setattr(timing, "matrix_rate", {"bfloat16": rate, "float32": 2e11}.get)
    data = small / "data"
    manifest = read_manifest(data)
    machine = ThisMachine(Records(data, manifest), precision=asked)
    assert (machine.precision, machine.is_accelerator) == (precision, False)
    if asked:
        config = dataclasses.replace(TINY, vocab_size=manifest.vocabulary["size"])
        found = machine.timed(config, TrainConfig(batch_size=4), seconds=0.0)
        assert 0 < found.step < found.compiling < 60


def test_only_repeated_steps_count_and_no_size_but_the_first_compiles(monkeypatch):
    clock = [0.0]

    class Compiling(Steps):
        """Steps of which the first of each size compiles for 40 seconds."""

        def accumulate(self, batch, **_):
            size = batch["input_ids"].shape
            self.clock[0] += 0.5 + 40.0 * (size not in self.calls)
            self.calls.append(size)

        def sums(self):
            pass

    steps = Compiling(clock, [])
    monkeypatch.setattr(timing.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(timing, "unpadded", lambda batch, **_: batch)
    monkeypatch.setattr(timing, "pretraining_counts", lambda batch: {})
    batches = (random_batch((1, 2, n), length=8, predictions=1, vocab_size=9) for n in range(8, 99))
    found = timing._timed(steps, batches, batch_size=4, seconds=7.1)
    assert found == (2 * 0.5 + 3.0, 40.0 + 97.0)
    assert len(steps.calls) == 4


def test_a_random_batch_has_the_features_of_a_batch():
    batch = random_batch((1, 2, 16), length=12, predictions=3, vocab_size=50)
    assert batch["input_mask"].sum(-1).tolist() == [[12, 12]]
    assert list(batch) == list(BATCH_FEATURES)
    assert {a.dtype.name for n, a in batch.items()} == {"int32", "float32"}


def test_products_are_made_wider_on_a_machine_that_is_fast_and_take_their_best_time(monkeypatch):
    """But for the first, which compiles."""
    monkeypatch.setattr(timing, "PRODUCT_SECONDS", 0.0)
    assert 1e8 < timing.matrix_rate.__wrapped__("float32") < 1e16
    lasting = iter([0.1, 0.5, 0.25, 0.5])
    times = iter([moment for seconds in lasting for moment in (0.0, seconds)])
    with monkeypatch.context() as patch:
        patch.setattr(timing.time, "perf_counter", lambda: next(times))
        assert timing._width_seconds(8, (1, 4), "float32") == 0.25
    monkeypatch.setattr(timing, "WIDTH", 8)
    monkeypatch.setattr(timing, "MAX_WIDTH", 32)
    monkeypatch.setattr(timing, "_width_seconds", lambda *_: 1e-6)
    assert timing.matrix_rate.__wrapped__("float32") == pytest.approx(4 * 8 * 32**3 / 1e-6)


def test_a_run_in_bfloat16_that_does_not_pay_is_told_so_and_none_has_more_than_all(monkeypatch):
    rates = {"float32": 4e11, "bfloat16": 1e11}
    monkeypatch.setattr(timing, "matrix_rate", rates.__getitem__)
    flops, said = 4 * training_flops(TINY, length=16, predictions=2), []

    def utilization(precision, seconds):
        steps = types.SimpleNamespace(model=types.SimpleNamespace(config=TINY))
        config = TrainConfig(batch_size=4, precision=precision)
        given = {"devices": 2, "config": config, "candidates": None, "say": said.append}
        counts = {"piece_count": 64.0, "mlm_count": 8.0}
        return timing.utilization_text(steps, counts, seconds, **given)

    assert utilization("float32", flops / 4e11) == " (MFU 50% of 800 GFLOP/s)"
    assert utilization("float32", 1e-9) == " (MFU 100% of 800 GFLOP/s)"
    assert said == []
    assert utilization("bfloat16", flops / 1e11) == " (MFU 50% of 200 GFLOP/s)"
    assert said == [
        "bfloat16 makes matrix products 4.0 times slower on this machine, which has no "
        "instructions for it; --precision float32 is faster here."
    ]


@pytest.mark.parametrize(
    ("given", "steps", "told"),
    [
        # Before the first step its time is the estimate.
        ({"batch_size": 32, "estimate": 2.0}, [], (2.0, None)),
        ({"batch_size": 32, "estimate": 2.0}, [(1.0, 0.0), (3.0, 0.0)], (2.0, "16 seq/s")),
        ({"batch_size": 32}, [(1.0, 0.0), (3.0, 0.0), (5.0, 0.0)], (3.0, "10.7 seq/s")),
        # A step that compiles says nothing of those to come.
        ({"batch_size": 32, "estimate": 0.5}, [(60.0, 0.0)], (0.5, "64 seq/s")),
        # Waiting for data may come again, however long it was; it is told where it is much.
        (
            *({"batch_size": 32, "estimate": 0.5}, [(60.0, 0.0), (4.5, 4.0)]),
            (4.5, "7.11 seq/s, 89% waiting for data"),
        ),
        ({"batch_size": 2000}, [(2.0, 0.1)], (2.0, "1,000 seq/s")),
    ],
)
def test_the_pace_of_a_run_is_that_of_its_steps(given, steps, told):
    pace = Pace(**given)
    for seconds, waited in steps:
        pace.add(seconds, waited=waited)
    assert (pace.step_seconds, pace.text() if steps else None) == told
