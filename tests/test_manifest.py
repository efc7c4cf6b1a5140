import json
from pathlib import Path

import pytest

from schemas.config import DataConfig
from schemas.errors import AlbertError
from schemas.json_file import json_text, read_json, write_json
from schemas.manifest import DatasetManifest, ShardFile, read_manifest

GOLDEN = Path(__file__).parent / "golden" / "manifest-1.json"

MANIFEST = DatasetManifest(
    config=DataConfig(
        max_seq_length=128, max_predictions_per_seq=19, dupe_factor=2, num_shards=2
    ),
    features=(
        {"name": "input_ids", "dtype": "int64", "length": 128, "meaning": "ids"},
    ),
    vocabulary={"file": "spiece.model", "sha256": "5e" * 32, "size": 30000},
    fingerprint="f1" * 32,
    versions={"albert": "0.1.0"},
    inputs=({"name": "text.txt", "kind": "text", "bytes": 7, "sha256": "7e" * 32},),
    splits={
        "train": {
            "documents": 3,
            "copies": [
                {"examples": 4, "tokens": 400, "masked_tokens": 60},
                {"examples": 5, "tokens": 410, "masked_tokens": 61},
            ],
        },
        "eval": {"documents": 0, "copies": []},
    },
    statistics={"short_share": 0.1},
    dropped={"document of one word": 1},
    changed={},
    shards=(
        ShardFile(
            name="train/copy-00/part-00000-of-00002.tfrecord",
            examples=4,
            bytes=900,
            sha256="00" * 32,
        ),
        ShardFile(
            name="train/copy-00/part-00001-of-00002.tfrecord",
            examples=0,
            bytes=0,
            sha256="e3" * 32,
        ),
        ShardFile(
            name="train/copy-01/part-00000-of-00002.tfrecord",
            examples=5,
            bytes=990,
            sha256="01" * 32,
        ),
    ),
)


@pytest.fixture
def dataset(tmp_path):
    """A data set that is nothing but its manifest."""
    write_json(tmp_path / "manifest.json", MANIFEST.to_dict())
    return tmp_path


def change(dataset, **changes):
    """Change keys of the manifest; None removes one."""
    values = read_json(dataset / "manifest.json") | changes
    values = {key: value for key, value in values.items() if value is not None}
    write_json(dataset / "manifest.json", values)


def error_of(dataset):
    with pytest.raises(AlbertError) as caught:
        read_manifest(dataset)
    return str(caught.value)


def test_a_manifest_is_read_back_as_it_was(dataset):
    assert read_manifest(dataset) == MANIFEST


def test_a_manifest_of_format_version_1_is_read(tmp_path):
    (tmp_path / "manifest.json").write_bytes(GOLDEN.read_bytes())
    assert read_manifest(tmp_path) == MANIFEST


def test_a_manifest_is_written_as_it_always_was():
    assert json_text(MANIFEST.to_dict()) == GOLDEN.read_text(encoding="utf-8")


def test_the_files_of_a_copy_are_found_by_split_and_copy():
    names = [file.name for file in MANIFEST.shard_files("train", 0)]
    assert names == [
        "train/copy-00/part-00000-of-00002.tfrecord",
        "train/copy-00/part-00001-of-00002.tfrecord",
    ]
    assert len(MANIFEST.shard_files("train", 1)) == 1
    assert MANIFEST.shard_files("train", 2) == ()
    assert MANIFEST.shard_files("eval", 0) == ()


def test_copies_are_counted_by_split():
    assert MANIFEST.num_copies("train") == 2
    assert MANIFEST.num_copies("eval") == 0
    assert MANIFEST.num_copies("test") == 0


def test_another_format_version_is_refused(dataset):
    change(dataset, format_version=2)
    assert error_of(dataset) == (
        f"{dataset}/manifest.json has format version 2 and this program reads 1; "
        "make the data again with this version."
    )


@pytest.mark.parametrize("other", [None, "albert-vocabulary"])
def test_the_manifest_of_something_else_is_refused(dataset, other):
    change(dataset, format=other)
    assert error_of(dataset) == (
        f"{dataset}/manifest.json describes no data set made by albert make-data."
    )


def test_a_folder_without_a_manifest_is_no_finished_data_set(tmp_path):
    assert error_of(tmp_path) == (
        f"{tmp_path} has no manifest.json, so it is no finished data set; "
        "run albert make-data again to finish it."
    )


def test_a_path_that_is_no_folder_is_refused(tmp_path):
    path = tmp_path / "nowhere"
    assert error_of(path) == f"{path} is no directory; give one made by make-data."


@pytest.mark.parametrize("missing", ["config", "shards", "splits", "features"])
def test_a_manifest_without_one_of_its_parts_is_damaged(dataset, missing):
    change(dataset, **{missing: None})
    message = error_of(dataset)
    assert message.startswith(f"{dataset}/manifest.json is damaged: ")
    assert missing in message


@pytest.mark.parametrize(
    "changes", [{"more": 1}, {"shards": [{"name": "x"}]}, {"shards": 5}, {"config": []}]
)
def test_a_manifest_with_other_parts_is_damaged(dataset, changes):
    change(dataset, **changes)
    assert error_of(dataset).startswith(f"{dataset}/manifest.json is damaged: ")


def test_a_manifest_that_is_cut_off_is_one_sentence(dataset):
    path = dataset / "manifest.json"
    path.write_text(path.read_text()[:100])
    assert error_of(dataset).startswith(f"{path} is not valid JSON: ")


def test_a_manifest_with_an_unknown_setting_is_damaged(dataset):
    config = json.loads(json_text(MANIFEST.to_dict()))["config"]
    change(dataset, config=config | {"max_seq_len": 128})
    assert error_of(dataset) == (
        f"{dataset}/manifest.json is damaged: 'max_seq_len' is no setting of "
        "DataConfig; the settings are max_seq_length, max_predictions_per_seq, "
        "masked_lm_prob, max_ngram, short_seq_prob, dupe_factor, sentence_task, "
        "eval_fraction, num_shards, record_layout, seed."
    )
