"""Training refuses a damaged record in the words of --verify."""

import itertools
import os
import shutil

import numpy as np
import pytest

from albert_tf.data.input_pipeline import (
    Records,
    StepShape,
    evaluation_batches,
    training_batches,
)
from pipeline.dataset.contents import verify
from pipeline.records.reading import REMEDY
from pipeline.records.tfrecord import frame, masked_crc, read_records
from schemas.errors import AlbertError
from schemas.layout import shard_file
from schemas.manifest import read_manifest
from tests.commands import EVAL_FRACTION, make_data
from tests.pipeline.records.one_record import encode
from tests.processes import albert
from tests.training_data import make_instance, padded_instance, write_dataset

NAME = shard_file("train", 0, shard=0, num_shards=1)
EXAMPLES = 10


@pytest.fixture(params=["compact", "padded"])
def dataset(tmp_path, request):
    """A data set of one training shard, and its manifest."""
    layout = request.param
    options = {"copies": 1, "shards": 1, "examples": EXAMPLES, "layout": layout}
    return tmp_path, write_dataset(tmp_path, **options)


def rows(dataset, manifest):
    """The token ids of one pass over the training examples."""
    batches = training_batches(Records(dataset, manifest), StepShape(5, 5), seed=1)
    some = itertools.islice(batches, EXAMPLES // 5)
    return np.concatenate([batch["input_ids"][0] for batch in some]).tolist()


def damaged_record(manifest, **changes):
    """A record with some features changed, padded where the data set is."""
    instance = make_instance(np.random.default_rng(5))
    if manifest.config.record_layout == "padded":
        instance = padded_instance(instance)
    for name, (place, value) in changes.items():
        instance[name][place] = value
    return encode(instance)


def with_record(record):
    """The file with its fourth record replaced."""

    def change(content, path):
        with path.open("rb") as file:
            records = list(read_records(file))
        records[3] = record
        return b"".join(map(frame, records))

    return change


def with_length(length):
    """The file with another length, rightly summed, in its first frame."""
    header = length.to_bytes(8, "little")
    start = header + masked_crc(header).to_bytes(4, "little")
    return lambda content, path: start + content[12:]


# One of each feature; pipeline/records tests all.
CHANGES = {
    "an id beyond the vocabulary": {"input_ids": (1, 64)},
    "a huge label": {"masked_lm_ids": (0, 2**33 + 9)},
    "a negative place": {"masked_lm_positions": (0, -1)},
    "another sentence label": {"next_sentence_labels": (0, 7)},
}


def check_refused_as_verified(root, manifest):
    """Training says what --verify says."""
    told = [line for line in verify(root, manifest) if ": record " in line]
    assert told
    with pytest.raises(AlbertError) as caught:
        rows(root, manifest)
    assert str(caught.value) == f"{root}/{told[0][:-1]}; {REMEDY}."


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_values_that_no_record_may_have(dataset, changes):
    root, manifest = dataset
    path = root / NAME
    change = with_record(damaged_record(manifest, **changes))
    path.write_bytes(change(path.read_bytes(), path))
    check_refused_as_verified(root, manifest)


def test_a_weight_that_processors_may_take_for_zero(tmp_path):
    """TensorFlow's threads round numbers this small to zero."""
    manifest = write_dataset(
        tmp_path, copies=1, shards=1, examples=EXAMPLES, layout="padded"
    )
    path = tmp_path / NAME
    change = with_record(damaged_record(manifest, masked_lm_weights=(-1, 1e-45)))
    path.write_bytes(change(path.read_bytes(), path))
    check_refused_as_verified(tmp_path, manifest)


@pytest.mark.parametrize(
    "change",
    [
        lambda content, path: b"",
        lambda content, path: content[:100],
        lambda content, path: content + frame(b""),
        with_length((1 << 64) - 1),
        with_record(b"\xff" * 100),
    ],
    ids=["empty", "cut off", "longer", "greatest length", "record of no meaning"],
)
def test_files_that_are_damaged(dataset, change):
    root, manifest = dataset
    path = root / NAME
    path.write_bytes(change(path.read_bytes(), path))
    check_refused_as_verified(root, manifest)


def test_held_out_examples_are_checked_too(dataset):
    root, manifest = dataset
    path = root / shard_file("eval", 0, shard=0, num_shards=2)
    record = damaged_record(manifest, input_ids=(1, -3))
    path.write_bytes(with_record(record)(path.read_bytes(), path))
    with pytest.raises(AlbertError, match=r"record 3, at byte \d+, has a token"):
        list(evaluation_batches(Records(root, manifest), batch_size=4, examples=7))


def swapped(content, path):
    """Two records in each other's place: right checksums, nothing damaged in itself."""
    with path.open("rb") as file:
        first, second, *others = read_records(file)
    return b"".join(map(frame, [second, first, *others]))


def test_an_altered_file_is_not_trained_on_in_silence(dataset):
    root, manifest = dataset
    path = root / NAME
    assert len(rows(root, manifest)) == EXAMPLES
    path.write_bytes(swapped(path.read_bytes(), path))
    problem = f"{path} is not the file that the manifest describes; {REMEDY}."
    with pytest.raises(AlbertError) as caught:
        rows(root, manifest)
    assert str(caught.value) == problem
    assert list(verify(root, manifest))[-1] == (
        f"{NAME} is not the file that the manifest describes."
    )


def test_a_file_in_the_place_of_another_is_refused(tmp_path):
    manifest = write_dataset(tmp_path, copies=1, shards=2, examples=EXAMPLES)
    first, second = (tmp_path / s.name for s in manifest.shard_files("train", 0))
    second.write_bytes(first.read_bytes())
    problem = f"{second} is not the file that the manifest describes; {REMEDY}."
    with pytest.raises(AlbertError) as caught:
        rows(tmp_path, manifest)
    assert str(caught.value) == problem


@pytest.mark.slow
def test_a_pretraining_on_a_damaged_file_ends_with_one_sentence(small, tmp_path):
    """In a process of its own: TensorFlow's own reader ends the process here."""
    shutil.copytree(small / "data", tmp_path / "data")
    shard = next(s for s in read_manifest(tmp_path / "data").shards if s.examples)
    path = tmp_path / "data" / shard.name
    path.write_bytes(with_length((1 << 64) - 1)(path.read_bytes(), path))
    command = ["pretrain", "--data", tmp_path / "data", "--output", tmp_path / "run"]
    settings = ["--model", "tiny", "--steps", "2", "--warmup-steps", "1", "--quiet"]
    environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"}
    done = albert(*command, *settings, env=environment)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"Error: {path}: record 0, at byte 0, is cut off: the file ends in it; "
        f"{REMEDY}."
    )
    # As it says.
    path.unlink()
    make_data(small, "--eval-fraction", EVAL_FRACTION, output=tmp_path / "data")
    assert path.read_bytes() == (small / "data" / shard.name).read_bytes()
