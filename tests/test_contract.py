"""What one half writes, the other half reads: the real writer, the real reader."""

import dataclasses
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from albert_tf.data.input_pipeline import Records, evaluation_batches
from pipeline.examples.masking import Masked
from pipeline.examples.pairs import Rows
from pipeline.records.tfrecord import RecordWriter, encode_rows
from schemas.config import DataConfig
from schemas.example import CLS_ID, FIRST_ORDINARY_ID, SEP_ID
from schemas.files import whole_file
from schemas.layout import EVAL, shard_file
from schemas.manifest import DatasetManifest, ShardFile

CONFIG = DataConfig(
    max_seq_length=24, max_predictions_per_seq=4, num_shards=1
).resolved(input_bytes=0)
VOCAB_SIZE = 40_000

pieces = st.integers(FIRST_ORDINARY_ID, VOCAB_SIZE - 1)


@st.composite
def instances(draw):
    """One valid instance: both segments, masked places and their labels."""
    a = draw(st.lists(pieces, min_size=1, max_size=12))
    b = draw(st.lists(pieces, min_size=1, max_size=9))
    ids = [CLS_ID, *a, SEP_ID, *b, SEP_ID]
    ordinary = [i for i, piece in enumerate(ids) if piece >= FIRST_ORDINARY_ID]
    places = draw(st.sets(st.sampled_from(ordinary), max_size=4))
    labels = [draw(pieces) for _ in places]
    return ids, len(a) + 2, sorted(places), labels, draw(st.integers(0, 1))


def write(batch, folder: Path) -> DatasetManifest:
    """A data set whose held-out split has the instances, written by `pipeline`."""
    ids, _, places, labels, orders = zip(*batch, strict=True)
    lengths = [len(row) for row in ids]
    flat = np.concatenate(ids).astype(np.int32)
    rows = Rows(flat, np.append(0, np.cumsum(lengths)), np.ones(len(flat), np.bool_))
    masked = Masked(
        ids=flat,
        positions=np.array([p for row in places for p in row], np.int64),
        labels=np.array([p for row in labels for p in row], np.int32),
        offsets=np.append(0, np.cumsum([len(row) for row in places])),
        spans_of_length=np.zeros(4, np.int64),
        replaced=np.zeros(3, np.int64),
    )
    records = encode_rows(rows, masked, np.array(orders), config=CONFIG)
    name = shard_file(EVAL, 0, shard=0, num_shards=1)
    with whole_file(folder / name) as file:
        writer = RecordWriter(file)
        writer.write(records)
    return DatasetManifest(
        config=dataclasses.replace(CONFIG),
        vocabulary={"file": "spiece.model", "sha256": "", "size": VOCAB_SIZE},
        fingerprint="",
        versions={},
        inputs=(),
        splits={EVAL: {"documents": 1, "copies": [{}]}},
        statistics={},
        dropped={},
        changed={},
        shards=(ShardFile(name=name, examples=len(batch), **writer.described()),),
    )


def padded(values, length):
    return [*values, *[0] * (length - len(values))]


# Each example opens files and a graph.
@settings(max_examples=25)
@given(st.lists(instances(), min_size=1, max_size=5))
def test_any_valid_instance_is_read_as_it_was_written(batch):
    with TemporaryDirectory() as folder:
        manifest = write(batch, Path(folder))
        records = Records(Path(folder), manifest)
        (read,) = evaluation_batches(
            records, batch_size=len(batch), examples=len(batch)
        )
    read = {name: values.tolist() for name, values in read.items()}
    for row, (ids, b_start, places, labels, order) in enumerate(batch):
        segments = [int(i >= b_start) for i in range(len(ids))]
        assert {name: values[row] for name, values in read.items()} == {
            "input_ids": padded(ids, 24),
            "input_mask": padded([1] * len(ids), 24),
            "segment_ids": padded(segments, 24),
            "masked_lm_positions": padded(places, 4),
            "masked_lm_ids": padded(labels, 4),
            "masked_lm_weights": padded([1.0] * len(places), 4),
            "sentence_order_labels": order,
        }
