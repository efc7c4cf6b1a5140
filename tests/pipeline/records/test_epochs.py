"""Epochs of documents are the copies that would be stored, byte for byte."""

import dataclasses
import itertools

import pytest

from pipeline.dataset.shard_plan import Shard
from pipeline.dataset.shards import write_shard
from pipeline.records.epochs import read_copy
from pipeline.records.reading import CorruptRecord
from pipeline.records.tfrecord import read_records
from schemas.config import DataConfig
from schemas.layout import DOCUMENTS, EVAL, TRAIN, part_file
from schemas.manifest import ShardFile
from tests.manifests import manifest_of

COPIES = 10


def config_of(**settings):
    return DataConfig(max_seq_length=48, num_shards=1, **settings).resolved(
        input_bytes=0
    )


def stored(documents, folder, *, tokenizer, config):
    """The records of each copy of a shard, as they are stored."""
    shard = Shard(split=TRAIN, index=0, num_shards=1, copies=COPIES)
    sidecar = write_shard(
        documents, shard, tokenizer=tokenizer, config=config, output=folder
    )
    copies = []
    for file in sidecar["files"]:
        with (folder / file["name"]).open("rb") as records:
            copies.append(list(read_records(records)))
    return copies, sidecar["copies"]


def write_documents(documents, folder, *, tokenizer, config):
    """The manifest of a data set with one shard of documents, and its sidecar."""
    config = dataclasses.replace(config, examples="on-the-fly")
    shard = Shard(split=TRAIN, index=0, num_shards=1, copies=1, is_documents=True)
    sidecar = write_shard(
        documents, shard, tokenizer=tokenizer, config=config, output=folder
    )
    files = [ShardFile(**file) for file in sidecar["files"]]
    size = tokenizer.vocab_size
    return manifest_of(files, config, sha256="", vocab_size=size), sidecar


def epoch_of(folder, manifest, epoch):
    (shard,) = manifest.shard_files(TRAIN, epoch)
    batches = read_copy(folder, shard, manifest, copy=epoch)
    return list(itertools.chain.from_iterable(batches))


@pytest.mark.parametrize("layout", ["compact", "padded"])
@pytest.mark.parametrize("task", ["sop", "nsp", "none"])
def test_ten_epochs_of_documents_are_ten_stored_copies_byte_for_byte(
    topics, tokenizer, tmp_path, task, layout
):
    config = config_of(sentence_task=task, record_layout=layout)
    documents = topics[:12]
    copies, counts = stored(documents, tmp_path, tokenizer=tokenizer, config=config)
    manifest, sidecar = write_documents(
        documents, tmp_path, tokenizer=tokenizer, config=config
    )
    assert [epoch_of(tmp_path, manifest, epoch) for epoch in range(COPIES)] == copies
    assert sidecar["copies"] == counts[:1]
    assert sidecar["files"][0]["examples"] == len(copies[0])


def test_the_eleventh_epoch_is_like_no_other(topics, tokenizer, tmp_path):
    manifest, _ = write_documents(
        topics[:3], tmp_path, tokenizer=tokenizer, config=config_of()
    )
    epochs = [tuple(epoch_of(tmp_path, manifest, epoch)) for epoch in range(12)]
    assert len(set(epochs)) == 12


@pytest.mark.parametrize("task", ["sop", "nsp", "none"])
def test_a_shard_without_documents_has_no_examples(tokenizer, tmp_path, task):
    config = config_of(sentence_task=task)
    manifest, _ = write_documents([], tmp_path, tokenizer=tokenizer, config=config)
    assert epoch_of(tmp_path, manifest, 3) == []


@pytest.fixture
def shard_of_three(topics, tokenizer, tmp_path):
    manifest, _ = write_documents(
        topics[:3], tmp_path, tokenizer=tokenizer, config=config_of()
    )
    return manifest, tmp_path / manifest.shards[0].name


def only_problem(folder, manifest):
    (found,) = epoch_of(folder, manifest, 0)
    assert isinstance(found, CorruptRecord)
    return found.problem


def test_a_shard_that_was_cut_inside_a_document_is_refused(shard_of_three, tmp_path):
    manifest, path = shard_of_three
    path.write_bytes(path.read_bytes()[:-9])
    assert only_problem(tmp_path, manifest) == "is cut off: the file ends in it"


def test_a_shard_that_was_cut_between_documents_is_refused(shard_of_three, tmp_path):
    manifest, path = shard_of_three
    path.write_bytes(b"")
    assert only_problem(tmp_path, manifest) == "cannot be found"


def test_a_shard_with_a_document_more_is_refused(shard_of_three, tmp_path):
    manifest, path = shard_of_three
    path.write_bytes(path.read_bytes() * 2)
    assert only_problem(tmp_path, manifest) == "is more than manifest.json promises"


def test_a_shard_that_is_missing_is_refused(shard_of_three, tmp_path):
    manifest, path = shard_of_three
    path.unlink()
    problem = "cannot be read: No such file or directory"
    assert only_problem(tmp_path, manifest) == problem


def test_documents_of_a_larger_vocabulary_are_refused(shard_of_three, tmp_path):
    manifest, _ = shard_of_three
    other = dataclasses.replace(manifest, vocabulary=manifest.vocabulary | {"size": 99})
    problem = "has a token that the vocabulary does not have"
    assert only_problem(tmp_path, other) == problem


def test_held_out_examples_are_read_as_they_are_stored(topics, tokenizer, tmp_path):
    config = config_of(examples="on-the-fly")
    shard = Shard(split=EVAL, index=0, num_shards=1, copies=1)
    sidecar = write_shard(
        topics[:3], shard, tokenizer=tokenizer, config=config, output=tmp_path
    )
    documents = ShardFile(
        name=part_file(DOCUMENTS, 0, num_parts=1), examples=0, bytes=0, sha256=""
    )
    manifest = manifest_of(
        [documents, *(ShardFile(**file) for file in sidecar["files"])],
        config,
        sha256="",
        vocab_size=tokenizer.vocab_size,
    )
    (held_out,) = manifest.shard_files(EVAL, 0)
    found = list(
        itertools.chain.from_iterable(read_copy(tmp_path, held_out, manifest, copy=0))
    )
    with (tmp_path / held_out.name).open("rb") as records:
        assert found == list(read_records(records))
