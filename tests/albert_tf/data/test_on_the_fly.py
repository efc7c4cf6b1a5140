"""Training on documents reads what it would read from stored copies, from anywhere."""

import gc
import itertools
import random
from unittest.mock import Mock

import numpy as np
import pytest

from albert_tf.data import input_pipeline, on_the_fly
from albert_tf.data.input_pipeline import Records, StepShape, training_batches
from albert_tf.data.on_the_fly import BEGINNING, Landmark, Making, OpenShard
from albert_tf.data.reading_order import groups_from
from pipeline.records.reading import REMEDY, Makers
from schemas.config import TrainConfig, flag_name
from schemas.manifest import read_manifest
from schemas.phases import phases_of
from tests.commands import make_data
from tests.refusals import refusal

BATCH = 8


@pytest.fixture(scope="module")
def stored(small, tmp_path_factory):
    """Two copies in nine shards, so that an epoch has two groups."""
    output = tmp_path_factory.mktemp("stored") / "data"
    make_data(small, "--num-shards", 9, output=output)
    return output


@pytest.fixture(scope="module")
def documents(small, tmp_path_factory):
    """The same, of which examples are made on the fly."""
    output = tmp_path_factory.mktemp("documents") / "data"
    make_data(small, "--num-shards", 9, "--examples", "on-the-fly", output=output)
    return output


def records_of(data):
    return Records(data, read_manifest(data))


def batches(records, count, *, start=0, landmark=BEGINNING, seed=1):
    """The first batches of a training, each feature of them as one array."""
    stream = training_batches(
        records, StepShape(BATCH, BATCH // 2), seed=seed, start=start, landmark=landmark
    )
    found = list(itertools.islice(stream, count))
    return {name: np.stack([batch[name] for batch in found]) for name in found[0]}


def assert_equal(found, expected):
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)


def size_of(data, epochs=1):
    """Examples of the first epochs, by the copies that are stored."""
    copies = read_manifest(data).splits["train"]["copies"]
    return sum(copy["examples"] for copy in copies[:epochs])


def test_the_batches_of_two_epochs_are_those_of_two_stored_copies(stored, documents):
    count = size_of(stored, epochs=2) // BATCH
    expected = batches(records_of(stored), count, seed=7)
    assert_equal(batches(records_of(documents), count, seed=7), expected)


def test_other_processes_make_the_same_examples_also_where_one_is_killed(documents, monkeypatch):
    count = size_of(documents, epochs=2) // BATCH
    expected = batches(records_of(documents), count)
    begun = []

    class Recorded(Makers):
        def __init__(self, *source, **how):
            super().__init__(*source, **how)
            begun.append(self)

        def records(self, *asked):
            if len(begun) == 2:
                self._workers._processes[0].kill()
            return super().records(*asked)

    monkeypatch.setattr(input_pipeline, "is_accelerated", lambda: True)
    monkeypatch.setattr(input_pipeline, "spare_processes", lambda: 2)
    monkeypatch.setattr(on_the_fly, "Makers", Recorded)
    for _ in range(2):
        assert_equal(batches(records_of(documents), count), expected)
    assert len(begun) == 2


def test_after_the_epochs_that_would_be_stored_come_others(stored, documents):
    def rows(start, end):
        count = (end - start) // BATCH
        ids = batches(records_of(documents), count, start=start)["input_ids"]
        return {row.tobytes() for row in ids.reshape(-1, ids.shape[-1])}

    one, two = (size_of(stored, epochs=epochs) for epochs in (1, 2))
    before, after = rows(0, two), rows(two, two + one)
    # A very short sequence may be masked twice in the same way.
    assert len(before & after) < len(after) / 20


def test_any_position_is_gone_on_from_with_its_landmark_or_without(documents):
    whole_records = records_of(documents)
    epoch = size_of(documents)
    whole = batches(whole_records, 3 * epoch // BATCH)
    # One of them in the third epoch.
    later = random.Random(1).randrange(2 * epoch // BATCH, 3 * epoch // BATCH - 4)
    for start in (1, epoch // BATCH, later):
        landmark = whole_records.landmarks.before(start * BATCH)
        assert landmark.examples <= start * BATCH
        expected = {name: values[start : start + 4] for name, values in whole.items()}
        for known in (landmark,) if start == later else (landmark, BEGINNING):
            found = batches(records_of(documents), 4, start=start * BATCH, landmark=known)
            assert_equal(found, expected)


def test_a_landmark_is_that_of_a_group_and_nothing_before_it_is_read(documents, monkeypatch):
    records, epoch = records_of(documents), size_of(documents)
    batches(records, epoch // BATCH + 1)
    assert records.landmarks.before(0) == BEGINNING
    middle = records.landmarks.before(epoch - 1)
    assert middle[:2] == (0, 1)
    assert 0 < middle.examples < epoch
    assert records.landmarks.before(epoch) == Landmark(1, 0, epoch)
    read_tokens = Mock(wraps=on_the_fly.read_tokens)
    monkeypatch.setattr(on_the_fly, "read_tokens", read_tokens)
    batches(records_of(documents), 1, start=epoch - 1, landmark=middle)
    _, _, group = next(groups_from(read_manifest(documents), seed=1, epoch=0, group=1))
    (last,) = group.files
    assert read_tokens.call_args_list[0].args[1].name == last.name


def test_settings_of_a_run_give_what_would_be_stored_with_them(small, documents, tmp_path):
    settings = {"max_seq_length": "24", "masked_lm_prob": "0.3", "kept_share": "0.4"}
    settings |= {"masked_words": "by-rarity", "sentence_task": "none"}
    flags = [[flag_name(name), value] for name, value in settings.items()]
    make_data(small, "--num-shards", 9, *itertools.chain(*flags), output=tmp_path / "d")
    train = TrainConfig(**settings)
    manifest = read_manifest(documents)
    made = Records(documents, manifest, phases=phases_of(manifest.config, train))
    count = size_of(tmp_path / "d", epochs=2) // BATCH
    assert_equal(batches(made, count), batches(records_of(tmp_path / "d"), count))


def test_a_schedule_changes_the_examples_between_two_steps(documents):
    manifest = read_manifest(documents)
    train = TrainConfig(steps=10, batch_size=BATCH, max_seq_length="16:0.4,32")
    phases = phases_of(manifest.config, train)

    def lengths(start, count, landmark=BEGINNING):
        records = Records(documents, manifest, phases=phases)
        stream = training_batches(
            records, StepShape(BATCH, BATCH), seed=1, start=start * BATCH, landmark=landmark
        )
        ids = [batch["input_ids"][0] for batch in itertools.islice(stream, count)]
        return records, [rows.shape[1] for rows in ids], [rows.tolist() for rows in ids]

    records, widths, rows = lengths(0, 10)
    assert widths == [16] * 4 + [32] * 6
    for start in (2, 4):
        landmark = records.landmarks.before(start * BATCH)
        for known in (landmark, BEGINNING):
            assert lengths(start, 3, known)[1:] == (
                widths[start : start + 3],
                rows[start : start + 3],
            )


def test_a_share_to_predict_that_falls_does_so_step_by_step(documents):
    manifest = read_manifest(documents)
    train = TrainConfig(steps=11, batch_size=4, masked_lm_prob="0.6..0.1")
    making = Making(*phases_of(manifest.config, train), 0, batch_size=4)
    shares = making.masked_shares(np.arange(0, 24, 4))
    np.testing.assert_allclose(shares, [0.6, 0.55, 0.5, 0.45, 0.4, 0.35])
    train = TrainConfig(steps=40, batch_size=64, masked_lm_prob="0.6..0.1")
    records = Records(documents, manifest, phases=phases_of(manifest.config, train))
    stream = training_batches(records, StepShape(64, 64), seed=1)
    means = []
    for step, batch in enumerate(itertools.islice(stream, 40)):
        names = ("masked_lm_weights", "input_mask")
        predictions, lengths = (batch[name][0].sum(axis=1) for name in names)
        share = 0.6 + (0.1 - 0.6) * step / 39
        assert np.all(predictions <= np.maximum(1, np.rint(lengths * share)))
        means.append(predictions.sum() / lengths.sum())
    assert np.all(np.diff(np.reshape(means, (8, 5)).mean(axis=1)) < 0)


def test_what_stands_at_masked_places_changes_between_two_steps(documents):
    manifest = read_manifest(documents)
    train = TrainConfig(steps=2, batch_size=128, masked_lm_prob="0.5", kept_share="0.9:0.5,0.0")
    records = Records(documents, manifest, phases=phases_of(manifest.config, train))
    kept = []
    for batch in itertools.islice(training_batches(records, StepShape(128, 128), seed=1), 2):
        places, labels, weights = (
            batch[name][0] for name in ("masked_lm_positions", "masked_lm_ids", "masked_lm_weights")
        )
        seen = np.take_along_axis(batch["input_ids"][0], places, axis=1)
        kept.append(np.average(seen == labels, weights=weights))
    assert kept == pytest.approx([0.9, 0.0], abs=0.05)


def open_shards():
    gc.collect()
    # Not isinstance, which asks objects of other libraries for their class.
    return sum(type(one) is OpenShard for one in gc.get_objects())


def test_what_has_been_read_is_let_go_of(documents):
    before = open_shards()
    stream = training_batches(records_of(documents), StepShape(BATCH, BATCH), seed=1)
    for _ in range(3 * size_of(documents) // BATCH):
        next(stream)
    # Of nine shards: eight that are read, the one after them, and eight read ahead.
    assert 0 < open_shards() - before <= 18


@pytest.mark.parametrize("lengths", ["32", "16:0.5,32"])
def test_a_stream_that_is_over_keeps_nothing_open(documents, lengths):
    """Neither one that nobody reads any longer nor one before other settings."""
    before = open_shards()
    manifest = read_manifest(documents)
    train = TrainConfig(steps=4, batch_size=BATCH, max_seq_length=lengths)
    records = Records(documents, manifest, phases=phases_of(manifest.config, train))
    stream = training_batches(records, StepShape(BATCH, BATCH), seed=1)
    for _ in range(3):
        next(stream)
    assert open_shards() > before
    stream.close()
    assert open_shards() == before


def test_a_document_that_is_damaged_ends_the_training_with_its_place(documents, tmp_path):
    manifest = read_manifest(documents)
    largest = max(manifest.shard_files("train", 0), key=lambda shard: shard.bytes)
    for shard in manifest.shards:
        path = tmp_path / shard.name
        path.parent.mkdir(parents=True, exist_ok=True)
        content = bytearray((documents / shard.name).read_bytes())
        if shard is largest:
            content[40] ^= 1
            damaged = path
        path.write_bytes(content)
    assert refusal(lambda: batches(Records(tmp_path, manifest), size_of(documents))) == (
        f"{damaged}: record 0, at byte 0, does not match its checksum; {REMEDY}."
    )
