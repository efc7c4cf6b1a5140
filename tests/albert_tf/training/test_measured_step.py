"""Steps are timed as training does them."""

import dataclasses

import pytest

from albert_tf.data.input_pipeline import Records
from albert_tf.model.pretrainer import BATCH_FEATURES
from albert_tf.training import measured_step
from albert_tf.training.measured_step import (
    fed_step_seconds,
    random_batch,
    step_seconds,
)
from schemas.config import DataConfig, TrainConfig
from schemas.manifest import read_manifest
from schemas.phases import Sample
from tests.training_data import TINY

DATA = DataConfig(max_seq_length=16, max_predictions_per_seq=2, num_shards=1).resolved(
    input_bytes=0
)


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


def test_a_step_takes_its_micro_batches_on_all_devices_and_one_update(monkeypatch):
    clock, calls = [0.0], []
    steps = Steps(clock, calls)
    monkeypatch.setattr(measured_step, "training_steps", lambda *_: steps)
    monkeypatch.setattr(measured_step.time, "perf_counter", lambda: clock[0])
    train = TrainConfig(batch_size=40, micro_batch_size=4)
    assert step_seconds(TINY, DATA, train, length=8) == 5 * 0.5 + 3.0
    (shapes, counts), *_ = calls
    assert calls.count("waited for") == len(calls) // 2 == 3
    assert shapes["input_ids"] == (2, 4, 16)
    assert shapes["row_places"] == (2, 64)
    assert counts == {"mlm_count": 8.0, "sentence_count": 8.0, "piece_count": 64.0}


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_real_step_takes_some_time(monkeypatch, precision):
    monkeypatch.setattr(measured_step, "REPEAT_SECONDS", 0.0)
    train = TrainConfig(batch_size=4, precision=precision)
    assert 0 < step_seconds(TINY, DATA, train, length=16) < 60


def test_a_step_is_timed_on_examples_of_a_data_set(small):
    data = small / "data"
    manifest = read_manifest(data)
    config = dataclasses.replace(TINY, vocab_size=manifest.vocabulary["size"])
    train = TrainConfig(batch_size=4)
    samples = [Sample(1.0, manifest.config)]
    records = Records(data, manifest)
    assert 0 < fed_step_seconds(config, train, samples, records, seconds=0.0) < 60


def test_a_random_batch_has_the_features_of_a_batch():
    batch = random_batch((1, 2, 16), length=12, predictions=3, vocab_size=50)
    assert batch["input_mask"].sum(-1).tolist() == [[12, 12]]
    assert list(batch) == list(BATCH_FEATURES)
    assert {a.dtype.name for n, a in batch.items()} == {"int32", "float32"}
