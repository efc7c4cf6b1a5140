"""The whole job: the same bytes however it is run."""

import hashlib
import json
import random

import pytest

from pipeline.formats import KINDS
from pipeline.inputs import find_inputs
from pipeline.make_data import make_data
from schemas.config import DataConfig
from schemas.errors import AlbertError
from schemas.manifest import read_manifest

CONFIG = DataConfig(
    max_seq_length=48, dupe_factor=2, num_shards=3, eval_fraction=0.3
).resolved(input_bytes=0)


@pytest.fixture(scope="module")
def texts(topics, tmp_path_factory):
    """Thirty books, one of them there twice."""
    folder = tmp_path_factory.mktemp("books")
    paths = [folder / f"{number:02}.txt" for number in range(30)]
    for path, document in zip(paths, topics, strict=False):
        path.write_text(document.text.replace("\n", "\n\n"), encoding="utf-8")
    paths[-1].write_bytes(paths[0].read_bytes())
    return [str(path) for path in paths]


def run(texts, model, output, *, config=CONFIG, workers=1, split_bytes=1 << 20):
    given = dict.fromkeys(KINDS, ()) | {"books": tuple(texts)}
    output.mkdir(parents=True)
    make_data(
        find_inputs(given),
        config,
        model=model,
        output=output,
        workers=workers,
        split_bytes=split_bytes,
    )
    return {
        str(path.relative_to(output)): path.read_bytes()
        for path in sorted(output.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def files(texts, model, tmp_path_factory):
    return run(texts, model, tmp_path_factory.mktemp("data") / "first")


def test_a_data_set_holds_these_files_and_no_others(files):
    assert list(files) == [
        "README.md",
        "eval/copy-00/part-00000-of-00001.tfrecord",
        "manifest.json",
        "shards/eval-00000.json",
        "shards/train-00000.json",
        "shards/train-00001.json",
        "shards/train-00002.json",
        "spiece.model",
        "train/copy-00/part-00000-of-00003.tfrecord",
        "train/copy-00/part-00001-of-00003.tfrecord",
        "train/copy-00/part-00002-of-00003.tfrecord",
        "train/copy-01/part-00000-of-00003.tfrecord",
        "train/copy-01/part-00001-of-00003.tfrecord",
        "train/copy-01/part-00002-of-00003.tfrecord",
    ]


def test_two_workers_write_the_same_bytes_as_one(files, texts, model, tmp_path):
    assert run(texts, model, tmp_path / "d", workers=2) == files


def test_the_order_of_the_inputs_does_not_show(files, texts, model, tmp_path):
    shuffled = random.Random(1).sample(texts, len(texts))
    assert run(shuffled, model, tmp_path / "d") == files


def test_the_size_of_the_splits_does_not_show(files, texts, model, tmp_path):
    assert run(texts, model, tmp_path / "d", split_bytes=3000) == files


def test_another_seed_gives_other_records_of_the_same_text(
    files, texts, model, tmp_path
):
    config = DataConfig(
        max_seq_length=48, dupe_factor=2, num_shards=3, eval_fraction=0.3, seed=7
    ).resolved(input_bytes=0)
    other = run(texts, model, tmp_path / "d", config=config)
    shard = "train/copy-00/part-00000-of-00003.tfrecord"
    assert other[shard] != files[shard]
    before, after = (json.loads(f["manifest.json"]) for f in (files, other))
    assert (
        before["splits"]["train"]["documents"]
        == (after["splits"]["train"]["documents"])
    )


def test_an_exact_duplicate_is_counted_and_left_out(files):
    manifest = json.loads(files["manifest.json"])
    assert manifest["dropped"] == {"duplicate document": 1}


def test_the_manifest_names_every_shard_with_its_hash(files, texts, model, tmp_path):
    run(texts, model, tmp_path / "d")
    manifest = read_manifest(tmp_path / "d")
    assert {s.name: s.sha256 for s in manifest.shards} == {
        name: hashlib.sha256(data).hexdigest()
        for name, data in files.items()
        if name.endswith(".tfrecord")
    }


def test_nothing_in_the_manifest_depends_on_the_machine(files, texts):
    for path in texts:
        assert path.rsplit("/", 1)[0].encode() not in files["manifest.json"]


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_in_a_worker_is_one_sentence(texts, model, tmp_path, workers):
    given = dict.fromkeys(KINDS, ()) | {"books": tuple(texts)}
    found = find_inputs(given)
    missing = found[3]._replace(path=str(tmp_path / "gone.txt"))
    (tmp_path / "d").mkdir()
    with pytest.raises(AlbertError, match=r"^\S*gone\.txt .*\.$"):
        make_data(
            [*found[:3], missing],
            CONFIG,
            model=model,
            output=tmp_path / "d",
            workers=workers,
        )
    assert not (tmp_path / "d/manifest.json").exists()
