"""Records become batches in an order that can be resumed; damaged ones are refused."""

import io
import itertools
import os
import shutil
import tempfile

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.data import input_pipeline
from albert_tf.data.input_pipeline import Records, StepShape, evaluation_batches
from albert_tf.model.pretrainer import BATCH_FEATURES
from pipeline.dataset.manifest import verify
from pipeline.records.reading import REMEDY
from pipeline.records.tfrecord import frame, masked_crc
from schemas.errors import AlbertError
from schemas.layout import shard_file
from schemas.manifest import read_manifest
from tests.commands import EVAL_FRACTION, make_data
from tests.pipeline.records import one_record
from tests.processes import albert
from tests.refusals import refusal
from tests.training_data import encode, make_instance, make_manifest, padded_instance, write_dataset

INSTANCE = {
    "input_ids": [2, 10, 4, 3, 11, 12, 3],
    "masked_lm_positions": [2],
    "masked_lm_ids": [13],
    "next_sentence_labels": [1],
}
PARSED = {
    "input_ids": [2, 10, 4, 3, 11, 12, 3, *[0] * 17],
    "input_mask": [1] * 7 + [0] * 17,
    "segment_ids": [0, 0, 0, 0, 1, 1, 1, *[0] * 17],
    "masked_lm_positions": [2, 0, 0, 0],
    "masked_lm_ids": [13, 0, 0, 0],
    "masked_lm_weights": [1.0, 0.0, 0.0, 0.0],
    "sentence_order_labels": 1,
}
EMPTY = {name: np.zeros_like(value).tolist() for name, value in PARSED.items()} | {
    "sentence_order_labels": -1
}


def parsed(*records, layout="compact"):
    config = make_manifest([], layout=layout).config
    batch = input_pipeline.parse_batch(tf.constant(records), config)
    rows = [{name: value[i].numpy() for name, value in batch.items()} for i in range(len(records))]
    return [{name: value.tolist() for name, value in row.items()} for row in rows]


@pytest.mark.parametrize("layout", ["compact", "padded"])
def test_both_layouts_give_the_same_batch_and_a_record_left_out_a_row_without_weight(layout):
    assert parsed(b"", encode(INSTANCE, layout), layout=layout) == [EMPTY, PARSED]
    assert set(PARSED) == set(BATCH_FEATURES)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"input_ids": [2, 10, 4, 11, 3]}, {"segment_ids": [0] * 24}),
        (
            {"masked_lm_positions": [], "masked_lm_ids": []},
            {"masked_lm_weights": [0.0] * 4, "input_ids": PARSED["input_ids"]},
        ),
        (
            {"input_ids": [2, *[9] * 10, 3, *[9] * 11, 3]},
            {"input_mask": [1] * 24, "segment_ids": [0] * 12 + [1] * 12},
        ),
    ],
    ids=["no second segment", "nothing to predict", "no padding"],
)
def test_what_an_example_has_or_lacks_shows_in_its_row(changes, expected):
    (row,) = parsed(encode(INSTANCE | changes))
    assert row.items() >= expected.items()


SHAPE = StepShape(6, 2)


def rows_of(batches, count):
    """The pieces of the first `count` batches, as one list of rows."""
    ids = [batch["input_ids"] for batch in itertools.islice(batches, count)]
    return np.concatenate([x.reshape(-1, x.shape[-1]) for x in ids]).tolist()


def training_rows(root, manifest, count, *, start=0, seed=1):
    return rows_of(training(root, manifest, start=start, seed=seed), count)


def training(root, manifest, step=SHAPE, **given):
    return input_pipeline.training_batches(Records(root, manifest), step, **{"seed": 1, **given})


def test_batches_have_static_shapes_of_micro_batches(tmp_path):
    batch = next(training(tmp_path, write_dataset(tmp_path)))
    assert {name: tuple(values.shape) for name, values in batch.items()} == {
        "input_ids": (3, 2, 24),
        "input_mask": (3, 2, 24),
        "segment_ids": (3, 2, 24),
        "masked_lm_positions": (3, 2, 4),
        "masked_lm_ids": (3, 2, 4),
        "masked_lm_weights": (3, 2, 4),
        "sentence_order_labels": (3, 2),
    }


@pytest.mark.parametrize(("devices", "shape"), [(1, (3, 3, 24)), (2, (4, 3, 24)), (4, (4, 3, 24))])
def test_a_batch_is_filled_up_with_rows_without_weight(tmp_path, devices, shape):
    manifest, rows = write_dataset(tmp_path), []
    stream = training(tmp_path, manifest, StepShape(7, 3, devices=devices))
    for batch in itertools.islice(stream, 2):
        assert batch["input_ids"].shape == shape
        flat = {n: v.reshape(-1, *v.shape[2:]) for n, v in batch.items()}
        assert (flat["sentence_order_labels"] >= 0).tolist() == [
            place < 7 for place in range(shape[0] * shape[1])
        ]
        assert not flat["masked_lm_weights"][7:].any()
        assert not flat["input_mask"][7:].any()
        rows += flat["input_ids"][:7].tolist()
    assert rows == training_rows(tmp_path, manifest, 3)[:14]


@pytest.mark.parametrize(("num_hosts", "devices"), [(2, 1), (2, 2), (5, 1)])
def test_hosts_read_the_stream_between_them(tmp_path, num_hosts, devices):
    manifest = write_dataset(tmp_path)
    steps = []
    for host in range(num_hosts):
        step = StepShape(7, 2, devices=devices, host=host, num_hosts=num_hosts)
        steps.append(list(itertools.islice(training(tmp_path, manifest, step), 2)))
    (shape,) = {batch["input_ids"].shape for own in steps for batch in own}
    rounds = -(-4 // (num_hosts * devices))
    assert shape == (rounds * devices, 2, 24)
    rows = []
    for of_step in zip(*steps, strict=True):
        # Rounds, hosts, devices, rows: the order in which one process would have them.
        ids = np.stack(
            [batch["input_ids"].reshape(rounds, devices, 2, 24) for batch in of_step], axis=1
        ).reshape(-1, 24)
        assert not ids[7:].any()
        rows += ids[:7].tolist()
    assert rows == training_rows(tmp_path, manifest, 3)[:14]


def test_a_pass_reads_every_example_of_a_copy_once(tmp_path):
    manifest = write_dataset(tmp_path, copies=2, shards=3, examples=10)
    rows = training_rows(tmp_path, manifest, 15)
    stored = {"copy-00": [], "copy-01": []}
    for shard in manifest.shards:
        if shard.name.startswith("train"):
            records = tf.data.TFRecordDataset(str(tmp_path / shard.name))
            for record in records:
                (row,) = parsed(record.numpy())
                stored[shard.name.split("/")[1]].append(row["input_ids"])
    assert sorted(rows[:30]) == sorted(stored["copy-00"])
    assert sorted(rows[30:60]) == sorted(stored["copy-01"])
    assert sorted(rows[60:90]) == sorted(stored["copy-00"])
    assert rows[60:90] != rows[:30] != stored["copy-00"]


def test_tensorflow_leaves_no_program_where_it_is_killed_and_tunes_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    root = tmp_path / "d"
    manifest = write_dataset(root)
    training_rows(root, manifest, 2)
    rows_of(evaluation_batches(Records(root, manifest), batch_size=4, examples=6), 2)
    assert list(tmp_path.iterdir()) == [root]
    # tf.data's autotuning has a thread that sleeps up to a minute, for which an end would wait.
    assert not input_pipeline.OPTIONS.autotune.enabled


def test_resuming_at_a_position_continues_the_stream_of_a_seed(tmp_path):
    manifest = write_dataset(tmp_path)
    whole = training_rows(tmp_path, manifest, 16)
    for start in (6, 18, 30, 60, 66):
        assert training_rows(tmp_path, manifest, 4, start=start) == whole[start : start + 24]
    assert training_rows(tmp_path, manifest, 16, seed=2) != whole


def test_evaluation_reads_in_file_order_and_fills_up_the_last_batch(tmp_path):
    manifest = write_dataset(tmp_path, eval_examples=7)
    batches = list(evaluation_batches(Records(tmp_path, manifest), batch_size=4, examples=6))
    labels = [batch["sentence_order_labels"].tolist() for batch in batches]
    assert [len(batch) for batch in labels] == [4, 4]
    assert [label < 0 for label in labels[1]] == [False, False, True, True]
    names = [str(tmp_path / shard.name) for shard in manifest.shard_files("eval", 0)]
    stored = [parsed(one.numpy())[0]["input_ids"] for one in tf.data.TFRecordDataset(names).take(6)]
    assert rows_of(batches, 2)[:6] == stored


NAME = shard_file("train", 0, shard=0, num_shards=1)
EXAMPLES = 10


@pytest.fixture
def dataset(tmp_path):
    """A padded data set of one training shard, and its manifest."""
    options = {"copies": 1, "shards": 1, "examples": EXAMPLES, "layout": "padded"}
    return tmp_path, write_dataset(tmp_path, **options)


def with_record(record):
    """The file with another fourth record."""

    def change(content):
        records = one_record.read_records(io.BytesIO(content))
        records[3] = record
        return b"".join(map(frame, records))

    return change


def with_value(name, place, value):
    """The same with one in which a value is changed."""
    instance = padded_instance(make_instance(np.random.default_rng(5)))
    instance[name][place] = value
    return with_record(one_record.encode(instance))


def swapped(content):
    """Two records in each other's place: right checksums, nothing damaged in itself."""
    first, second, *others = one_record.read_records(io.BytesIO(content))
    return b"".join(map(frame, [second, first, *others]))


# One of each kind; pipeline/records tests all.
DAMAGES = {
    "cut off": lambda content: content[:100],
    "a flipped byte": lambda content: content[:40] + bytes([content[40] ^ 0xFF]) + content[41:],
    "longer": lambda content: content + frame(b""),
    "a record of no meaning": with_record(b"\xff" * 100),
    "an id beyond the vocabulary": with_value("input_ids", 1, 64),
    # TensorFlow's threads round numbers this small to zero.
    "a tiny weight": with_value("masked_lm_weights", -1, 1e-45),
    "two records swapped": swapped,
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_training_refuses_a_damaged_file_as_verify_does(dataset, kind):
    root, manifest = dataset
    assert len(training_rows(root, manifest, 2)) == 12
    path = root / NAME
    path.write_bytes(DAMAGES[kind](path.read_bytes()))
    # Its vocabulary is none, and its numbers of tokens are not those of its records.
    altered, *damaged = (said for said in verify(root, manifest) if said.startswith(NAME))
    assert altered == f"{NAME} is not the file that the manifest describes."
    told = (damaged or [altered])[0]
    assert refusal(training_rows, root, manifest, 2) == f"{root}/{told[:-1]}; {REMEDY}."


def test_held_out_examples_are_checked_too(dataset):
    root, manifest = dataset
    path = root / shard_file("eval", 0, shard=0, num_shards=2)
    path.write_bytes(with_value("input_ids", 1, -3)(path.read_bytes()))
    with pytest.raises(AlbertError, match=r"record 3, at byte \d+, has a token"):
        list(evaluation_batches(Records(root, manifest), batch_size=4, examples=7))


@pytest.mark.slow
def test_a_pretraining_on_a_damaged_file_ends_with_one_sentence(small, tmp_path):
    """In a process of its own: TensorFlow's own reader ends the process here."""
    shutil.copytree(small / "data", tmp_path / "data")
    shard = next(s for s in read_manifest(tmp_path / "data").shards if s.examples)
    path = tmp_path / "data" / shard.name
    # Another length, rightly summed, in the first frame.
    length = ((1 << 64) - 1).to_bytes(8, "little")
    start = length + masked_crc(length).to_bytes(4, "little")
    path.write_bytes(start + path.read_bytes()[12:])
    command = ["pretrain", "--data", tmp_path / "data", "--output", tmp_path / "run"]
    settings = ["--model", "tiny", "--steps", "2", "--warmup-steps", "1", "--quiet"]
    environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"}
    done = albert(*command, *settings, env=environment)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"Error: {path}: record 0, at byte 0, is cut off: the file ends in it; {REMEDY}."
    )
    # As it says.
    path.unlink()
    make_data(small, "--eval-fraction", EVAL_FRACTION, output=tmp_path / "data")
    assert path.read_bytes() == (small / "data" / shard.name).read_bytes()
