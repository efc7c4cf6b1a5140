"""Records are read whatever is wrong beside them; epochs are copies of the text."""

import dataclasses
import hashlib
import io
import itertools
import os

import pytest

from pipeline.dataset.shard import Shard, write_shard
from pipeline.records import reading
from pipeline.records.reading import CorruptRecord, read_copy, read_shard, read_unmasked, unmasked
from pipeline.records.tfrecord import frame
from schemas.config import DataConfig
from schemas.example import CLS_ID, MASK_ID, SEP_ID
from schemas.layout import DOCUMENTS, EVAL, TRAIN, part_file
from schemas.manifest import ShardFile, read_manifest
from tests.manifests import described, manifest_of
from tests.pipeline.records.one_record import encode, read_records
from tests.refusals import refusal
from tests.training_data import encode as record_of
from tests.training_data import make_manifest, write_dataset

MANIFEST = make_manifest([])
MASKED = {"masked_lm_positions": [1], "masked_lm_ids": [12], "next_sentence_labels": [0]}
RECORDS = [encode({"input_ids": [2, 10 + n, 3, 11, 3]} | MASKED) for n in range(4)]
WHOLE = b"".join(map(frame, RECORDS))
FRAME = len(WHOLE) // 4


def read(folder, content=None, *, examples=4):
    """Each item as the record's number or the sentence about it."""
    sha256 = ""
    if content is not None:
        (folder / "shard").write_bytes(content)
        sha256 = hashlib.sha256(content).hexdigest()
    size = len(content or b"")
    shard = ShardFile(name="shard", examples=examples, bytes=size, sha256=sha256)
    return [
        item.sentence if isinstance(item, CorruptRecord) else RECORDS.index(item)
        for items in read_shard(folder, shard, MANIFEST)
        for item in items
    ]


def flipped(place):
    content = bytearray(WHOLE)
    content[place] ^= 1
    return content


def said(number, place, problem, *, lost=0):
    """What is said of a record, and of so many that are lost with it."""
    more = f", and {lost} after it are lost" if lost else ""
    return f"record {number}, at byte {place}, {problem}{more}"


END, NOWHERE = len(WHOLE), "cannot be found"
NO_MATCH, BAD_LENGTH = (f"{what}does not match its checksum" for what in ("", "has a length that "))
CUT_OFF, NO_FILE = "is cut off: the file ends in it", "cannot be read: No such file or directory"


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (WHOLE, [0, 1, 2, 3]),
        (flipped(FRAME + 20), [0, said(1, FRAME, NO_MATCH), 2, 3]),
        (flipped(FRAME), [0, said(1, FRAME, BAD_LENGTH), said(2, END, NOWHERE, lost=1)]),
        (b"", [said(0, 0, NOWHERE, lost=3)]),
        (bytes(END), [said(0, 0, BAD_LENGTH), said(1, END, NOWHERE, lost=2)]),
        (
            WHOLE[: 2 * FRAME + 30],
            [0, 1, said(2, 2 * FRAME, CUT_OFF), said(3, 2 * FRAME + 30, NOWHERE)],
        ),
        (None, [said(0, 0, NO_FILE, lost=3)]),
    ],
    ids=[
        *("whole", "a flipped bit in the data", "a flipped bit in a length", "empty"),
        *("zeros", "cut off in a record", "missing"),
    ],
)
def test_damage_costs_the_records_that_it_touches(tmp_path, content, found):
    assert read(tmp_path, content) == found


def test_a_record_more_than_promised_is_not_read(tmp_path):
    more = said(2, 2 * FRAME, "is more than the 2 that manifest.json promises")
    assert read(tmp_path, WHOLE, examples=2) == [0, 1, more]


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "shard")
    assert read(tmp_path) == [said(0, 0, "cannot be read: it is not a file", lost=3)]


NO_EXAMPLE = "is not a tf.train.Example as albert make-data writes them"


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        *((b"\xff\xff", NO_EXAMPLE), (b"", NO_EXAMPLE)),
        (
            RECORDS[0].replace(b"\x02\x0a\x03\x0b\x03", b"\x02\x0a\x03\x7f\x03"),
            "has a token that the vocabulary does not have",
        ),
    ],
)
def test_a_well_framed_record_that_is_no_example(tmp_path, record, problem):
    frames = map(frame, [RECORDS[0], record, RECORDS[2], RECORDS[3]])
    assert read(tmp_path, b"".join(frames)) == [0, said(1, FRAME, problem), 2, 3]


def test_numbers_go_on_from_one_chunk_to_the_next(tmp_path):
    number = reading.BATCH_RECORDS + 6
    content = bytearray(WHOLE * reading.BATCH_RECORDS)
    content[FRAME * number + 20] ^= 1
    found = read(tmp_path, content, examples=4 * reading.BATCH_RECORDS)
    assert found.pop(number) == said(number, FRAME * number, NO_MATCH)
    assert found == [n % 4 for n in range(4 * reading.BATCH_RECORDS) if n != number]


COPIES = 10


def config_of(**settings):
    return DataConfig(max_seq_length=48, num_shards=1, **settings).resolved(input_bytes=0)


def write(documents, folder, *, tokenizer, config, split=TRAIN):
    """The only shard of a split: its files, and its sidecar."""
    shard = Shard(split=split, index=0, num_shards=1)
    sidecar = write_shard(documents, shard, tokenizer=tokenizer, config=config, output=folder)
    return [ShardFile(**file) for file in sidecar["files"]], sidecar


def write_documents(documents, folder, *, tokenizer, config):
    """The manifest of a data set with one shard of documents, and its sidecar."""
    config = dataclasses.replace(config, examples="on-the-fly")
    files, sidecar = write(documents, folder, tokenizer=tokenizer, config=config)
    return manifest_of(files, config, sha256="", vocab_size=tokenizer.vocab_size), sidecar


def stored(folder, file):
    """The records of a file in which nothing is wrong."""
    return read_records(io.BytesIO((folder / file.name).read_bytes()))


def epoch_of(folder, manifest, epoch):
    (shard,) = manifest.shard_files(TRAIN, epoch)
    batches = read_copy(folder, shard, manifest, copy=epoch)
    return list(itertools.chain.from_iterable(batches))


@pytest.mark.parametrize("layout", ["compact", "padded"])
@pytest.mark.parametrize("task", ["sop", "nsp", "none"])
def test_ten_epochs_of_documents_are_ten_stored_copies(topics, tokenizer, tmp_path, task, layout):
    config = config_of(sentence_task=task, record_layout=layout)
    files, written = write(topics[:12], tmp_path, tokenizer=tokenizer, config=config)
    copies = [stored(tmp_path, file) for file in files]
    manifest, sidecar = write_documents(topics[:12], tmp_path, tokenizer=tokenizer, config=config)
    assert [epoch_of(tmp_path, manifest, epoch) for epoch in range(COPIES)] == copies
    assert sidecar["copies"] == written["copies"][:1]
    assert sidecar["files"][0]["examples"] == len(copies[0])


def test_the_eleventh_epoch_is_like_no_other(topics, tokenizer, tmp_path):
    manifest, _ = write_documents(topics[:3], tmp_path, tokenizer=tokenizer, config=config_of())
    epochs = [tuple(epoch_of(tmp_path, manifest, epoch)) for epoch in range(12)]
    assert len(set(epochs)) == 12


@pytest.mark.parametrize("task", ["sop", "nsp", "none"])
def test_a_shard_without_documents_has_no_examples(tokenizer, tmp_path, task):
    config = config_of(sentence_task=task)
    manifest, _ = write_documents([], tmp_path, tokenizer=tokenizer, config=config)
    assert epoch_of(tmp_path, manifest, 3) == []


def in_another_order(content):
    """Under right checksums: only the hash of the file tells."""
    first, *others = read_records(io.BytesIO(content))
    return b"".join(map(frame, [*others, first]))


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda content: content[:-9], CUT_OFF),
        (lambda content: b"", NOWHERE),
        (lambda content: content * 2, "is more than manifest.json promises"),
        (in_another_order, "is not the file that the manifest describes"),
        (None, NO_FILE),
        ("a smaller vocabulary", "has a token that the vocabulary does not have"),
    ],
    ids=[
        *("cut inside a document", "cut between", "a document more", "another order", "missing"),
        "of a larger vocabulary",
    ],
)
def test_a_shard_of_documents_that_is_damaged_is_refused(
    topics, tokenizer, tmp_path, damage, problem
):
    manifest, _ = write_documents(topics[:3], tmp_path, tokenizer=tokenizer, config=config_of())
    path = tmp_path / manifest.shards[0].name
    content = path.read_bytes()
    if damage is None:
        path.unlink()
    elif callable(damage):
        path.write_bytes(damage(content))
    else:
        smaller = manifest.vocabulary | {"size": 99}
        manifest = dataclasses.replace(manifest, vocabulary=smaller)
    (found,) = epoch_of(tmp_path, manifest, 0)
    assert isinstance(found, CorruptRecord)
    assert found.problem == problem


def test_of_a_file_that_is_not_the_one_described_no_record_is_read(tmp_path, monkeypatch):
    manifest = write_dataset(tmp_path, copies=1, shards=1)
    (shard,) = manifest.shard_files(TRAIN, 0)
    original = (tmp_path / shard.name).read_bytes()
    (tmp_path / shard.name).write_bytes(in_another_order(original))
    (items,) = read_shard(tmp_path, shard, manifest)
    assert all(isinstance(item, CorruptRecord) for item in items)
    assert sum(item.lost for item in items) == shard.examples
    (tmp_path / shard.name).write_bytes(original)
    for _ in range(2):
        (records,) = read_shard(tmp_path, shard, manifest)
        assert list(records) == stored(tmp_path, shard)
        # It is hashed once.
        monkeypatch.delattr(hashlib, "file_digest", raising=False)


def test_held_out_examples_are_read_as_they_are_stored(topics, tokenizer, tmp_path):
    config = config_of(examples="on-the-fly")
    files, _ = write(topics[:3], tmp_path, tokenizer=tokenizer, config=config, split=EVAL)
    files.append(described(part_file(DOCUMENTS, 0, num_parts=1), 0))
    manifest = manifest_of(files, config, sha256="", vocab_size=tokenizer.vocab_size)
    (held_out,) = manifest.shard_files(EVAL, 0)
    found = list(itertools.chain.from_iterable(read_copy(tmp_path, held_out, manifest, copy=0)))
    assert found == stored(tmp_path, held_out)


FIRST = {"input_ids": [CLS_ID, MASK_ID, 11, 12, SEP_ID], "next_sentence_labels": [0]}
FIRST |= {"masked_lm_positions": [1, 3], "masked_lm_ids": [10, 13]}
SECOND = {"input_ids": [CLS_ID, 20, SEP_ID], "next_sentence_labels": [0]}
SECOND |= {"masked_lm_positions": [1], "masked_lm_ids": [20]}


@pytest.mark.parametrize("layout", ["compact", "padded"])
def test_masked_tokens_are_put_back_and_the_first_rows_of_a_text_are_one(layout):
    text = unmasked([record_of(FIRST, layout), record_of(SECOND, layout)], layout)
    assert [r.tolist() for r in text.rows] == [[CLS_ID, 10, 11, 13, SEP_ID], [CLS_ID, 20, SEP_ID]]
    assert text.shown.tolist() == [*FIRST["input_ids"], *SECOND["input_ids"]]
    assert text.is_masked.tolist() == [*map(bool, [0, 1, 0, 1, 0, 0, 1, 0])]
    assert text.offsets.tolist() == [0, 5, 8]
    first = text.first(1)
    assert first.ids.tolist() == [CLS_ID, 10, 11, 13, SEP_ID]
    assert len(first.shown) == len(first.is_masked) == 5
    assert first.offsets.tolist() == [0, 5]


def test_a_copy_of_a_split_is_read_whole(tmp_path):
    manifest = write_dataset(tmp_path, examples=300)
    texts = list(read_unmasked(tmp_path, manifest, split="train", copy=1))
    # Three files, of each what is read at a time.
    assert [len(text.rows) for text in texts] == [256, 44] * 3
    assert sum(int(text.is_masked.sum()) for text in texts) >= 900


def test_a_corrupt_record_is_named(tmp_path):
    write_dataset(tmp_path)
    path = tmp_path / "eval/copy-00/part-00001-of-00002.tfrecord"
    path.write_bytes(path.read_bytes()[:-1])
    found = refusal(lambda: list(read_unmasked(tmp_path, read_manifest(tmp_path), split="eval")))
    assert found.startswith(f"{path}: record 2, at byte ")
    assert found.endswith(f"the file ends in it; {reading.REMEDY}.")
