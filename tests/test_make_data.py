"""The whole job: the same bytes however it is run."""

import dataclasses
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from pipeline import transforms
from pipeline.dataset import tool_versions
from pipeline.formats import KINDS
from pipeline.inputs import find_inputs
from pipeline.make_data import make_data
from pipeline.spill import WORK
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


def run(texts, model, output, *, config=CONFIG, workers=1, **settings):
    given = dict.fromkeys(KINDS, ()) | {"books": tuple(texts)}
    output.mkdir(parents=True, exist_ok=True)
    make_data(
        find_inputs(given),
        config,
        model=model,
        output=output,
        workers=workers,
        **settings,
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


def test_the_engines_own_shuffle_gives_the_same_bytes(files, texts, model, tmp_path):
    assert run(texts, model, tmp_path / "d", shuffle="engine") == files


def test_a_remote_data_set_has_the_bytes_of_a_local_one(files, texts, model):
    contents = pytest.importorskip("tests.memory_files").CONTENTS
    inputs = find_inputs(dict.fromkeys(KINDS, ()) | {"books": tuple(texts)})
    place = "memory://bucket/data"
    make_data(inputs, CONFIG, model=model, output=place, shuffle="engine")
    written = {path for path in contents if path.startswith(place)}
    assert {
        path.removeprefix(f"{place}/"): contents.pop(path) for path in written
    } == files


def test_an_interrupted_job_is_finished_from_what_is_there(
    files, texts, model, tmp_path, monkeypatch
):
    built = []

    def stop_at_the_second(documents, shard, **settings):
        if len(built) == 1:
            raise AlbertError("no more")
        built.append(shard)
        return write_shard(documents, shard, **settings)

    write_shard = transforms.write_shard
    monkeypatch.setattr(transforms, "write_shard", stop_at_the_second)
    with pytest.raises(AlbertError, match="no more"):
        run(texts, model, tmp_path / "d")
    assert not (tmp_path / "d/manifest.json").exists()

    def note(documents, shard, **settings):
        rebuilt.append(shard)
        return write_shard(documents, shard, **settings)

    def never(*_, **__):
        raise AssertionError("all splits were read before")

    rebuilt = []
    monkeypatch.setattr(transforms, "write_shard", note)
    monkeypatch.setattr(transforms, "read_split", never)
    assert run(texts, model, tmp_path / "d") == files
    written = sorted((shard.split, shard.index) for shard in [*built, *rebuilt])
    assert written == [("eval", 0), ("train", 0), ("train", 1), ("train", 2)]


def test_what_a_job_of_other_settings_left_is_not_used(files, texts, model, tmp_path):
    other = dataclasses.replace(CONFIG, seed=7)
    run(texts, model, tmp_path / "d", config=other)
    (tmp_path / "d/manifest.json").unlink()
    assert run(texts, model, tmp_path / "d") == files


def test_a_worker_with_other_tools_is_refused(texts, model, tmp_path, monkeypatch):
    monkeypatch.setattr(
        transforms, "tool_versions", lambda: tool_versions() | {"sentencex": "0.1"}
    )
    with pytest.raises(
        AlbertError, match=r"^A worker has sentencex 0.1 where the job was made with 1"
    ):
        run(texts, model, tmp_path / "d")


def test_another_seed_gives_other_records_of_the_same_text(
    files, texts, model, tmp_path
):
    other = run(
        texts, model, tmp_path / "d", config=dataclasses.replace(CONFIG, seed=7)
    )
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


# Killed from outside

PROGRAM = (
    "import json, sys\n"
    "from pathlib import Path\n"
    "from pipeline.formats import KINDS\n"
    "from pipeline.inputs import find_inputs\n"
    "from pipeline.make_data import make_data\n"
    "from schemas.config import DataConfig\n"
    "from schemas.errors import AlbertError\n"
    "output, model, texts = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])\n"
    "given = dict.fromkeys(KINDS, ()) | {'books': tuple(texts)}\n"
    "config = DataConfig(max_seq_length=48, dupe_factor=2, num_shards=3,\n"
    "    eval_fraction=0.3).resolved(input_bytes=0)\n"
    "try:\n"
    "    make_data(find_inputs(given), config, model=Path(model).read_bytes(),\n"
    "        output=Path(output), workers=2, split_bytes=20000)\n"
    "except AlbertError as error:\n"
    "    sys.exit(str(error))\n"
)


def start(texts, model, output):
    output.mkdir(exist_ok=True)
    (output.parent / "m.model").write_bytes(model)
    return subprocess.Popen(
        [
            *(sys.executable, "-W", "ignore", "-c", PROGRAM),
            *(str(output), str(output.parent / "m.model"), json.dumps(texts)),
        ],
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(job):
    """What a job said, once it has ended; it does not outlive the test."""
    try:
        return job.communicate(timeout=30)[1]
    finally:
        job.kill()
        job.wait()


def workers_of(output):
    marks = (output / WORK).glob("worker-*")
    return [int(mark.name.removeprefix("worker-")) for mark in marks]


def wait_for_workers(output):
    end = time.monotonic() + 60
    while len(workers := workers_of(output)) < 2:
        assert time.monotonic() < end
        time.sleep(0.05)
    return workers


def is_running(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("interrupts", ["SIG_DFL", "SIG_IGN"])
def test_a_killed_worker_ends_the_job_with_one_sentence_and_nothing_is_lost(
    files, texts, model, tmp_path, interrupts
):
    """In the background too, where a shell lets jobs ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, getattr(signal, interrupts))
    job = start(texts, model, tmp_path / "d")
    signal.signal(signal.SIGINT, before)
    victim, _ = wait_for_workers(tmp_path / "d")
    os.kill(victim, signal.SIGKILL)
    said = ended(job)
    assert job.returncode == 1
    assert said.splitlines()[-1].startswith("A worker process was killed, ")
    assert run(texts, model, tmp_path / "d", split_bytes=20000) == files


def test_the_workers_of_a_killed_job_end_with_it(texts, model, tmp_path):
    job = start(texts, model, tmp_path / "d")
    workers = wait_for_workers(tmp_path / "d")
    job.kill()
    ended(job)
    end = time.monotonic() + 10
    while any(map(is_running, workers)):
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.slow
def test_a_job_killed_at_twenty_random_moments_gives_the_same_bytes(
    files, texts, model, tmp_path
):
    moments = random.Random(0)
    for _ in range(20):
        job = start(texts, model, tmp_path / "d")
        time.sleep(moments.uniform(0.3, 6.0))
        job.kill()
        ended(job)
    assert run(texts, model, tmp_path / "d", split_bytes=20000) == files
