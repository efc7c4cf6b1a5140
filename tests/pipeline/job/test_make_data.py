"""The whole job: the same bytes however it is run."""

import contextlib
import dataclasses
import functools
import json
import logging
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from unittest.mock import Mock

import pytest

from pipeline.core import worker_processes
from pipeline.core.documents import ShardDocument
from pipeline.dataset.manifest import NothingToTrainOn
from pipeline.dataset.shard import tool_versions
from pipeline.job import beam, make_data
from pipeline.job.plan import WorkItem, chunks_folder, plan_job
from pipeline.job.repeats import Counted
from pipeline.job.resume import Done, ProgressReader
from pipeline.reading.inputs import find_inputs
from pipeline.storage.files import join, write_whole
from schemas.errors import AlbertError
from schemas.files import json_text, read_json
from schemas.layout import chunk_file, sidecar_file
from schemas.manifest import read_manifest
from tests.commands import contents
from tests.pipeline.job.jobs import config_of, failing, run_job
from tests.processes import await_end_of, children_of, ended, needs_proc, wait_until
from tests.refusals import refusal

CONFIG = config_of(max_seq_length=48, dupe_factor=2, num_shards=3, eval_fraction=0.3)
ON_THE_FLY = dataclasses.replace(CONFIG, examples="on-the-fly")
PARTS = [f"part-0000{number}-of-00003.tfrecord" for number in range(3)]
HELD_OUT = "eval/copy-00/part-00000-of-00001.tfrecord"


@pytest.fixture(scope="module")
def texts(topics, tmp_path_factory):
    """Sixteen books, one of them there twice, and two with a table in common."""
    folder = tmp_path_factory.mktemp("books")
    paths = []
    for document in (*topics[6:20], topics[21], topics[6]):
        paths.append(folder / f"{len(paths):02}.txt")
        paths[-1].write_text(document.text.replace("\n", "\n\n"), encoding="utf-8")
    return [str(path) for path in paths]


def run(texts, model, output, *, config=CONFIG, **settings):
    inputs = find_inputs({"books": tuple(texts)})
    run_job(inputs, output, model=model, config=config, **settings)
    return {name: (output / name).read_bytes() for name in contents(output)}


@pytest.fixture
def make(texts, model, tmp_path):
    """Makes the data set in tmp_path / "d"; what the job has left."""
    return functools.partial(run, texts, model, tmp_path / "d")


@pytest.fixture(scope="module")
def files(texts, model, tmp_path_factory):
    return run(texts, model, tmp_path_factory.mktemp("data") / "first")


def test_a_data_set_holds_these_files_and_no_duplicate_or_name_of_this_machine(files, texts):
    assert list(files) == [
        *("README.md", HELD_OUT, "manifest.json", "shards/eval-00000.json"),
        *(f"shards/train-0000{number}.json" for number in range(3)),
        *("spiece.model", *(f"train/copy-0{copy}/{part}" for copy in (0, 1) for part in PARTS)),
    ]
    # Of the two books with a table in common one is held out.
    dropped = json.loads(files["manifest.json"])["dropped"]
    assert dropped == {"document with held-out text": 1, "duplicate document": 1}
    assert texts[0].rsplit("/", 1)[0].encode() not in files["manifest.json"]


@pytest.fixture(scope="module")
def documents(texts, model, tmp_path_factory):
    """The same data set, of which examples are made on the fly."""
    return run(texts, model, tmp_path_factory.mktemp("on_the_fly") / "first", config=ON_THE_FLY)


def test_of_examples_on_the_fly_the_documents_are_stored_once(files, documents):
    trained_on = [name for name in documents if name.startswith("train/")]
    assert trained_on == [f"train/documents/{part}" for part in PARTS]
    assert documents[HELD_OUT] == files[HELD_OUT]
    stored, made = (json.loads(each["manifest.json"]) for each in (files, documents))
    assert made["splits"]["eval"] == stored["splits"]["eval"]
    (first,) = made["splits"]["train"]["copies"]
    assert first == stored["splits"]["train"]["copies"][0]
    assert made["config"] == stored["config"] | {"examples": "on-the-fly"}


@pytest.fixture
def expected(request, config):
    """What any job with the configuration of a test leaves."""
    return request.getfixturevalue("files" if config is CONFIG else "documents")


@pytest.mark.parametrize(
    ("config", "settings"),
    [
        (CONFIG, {"workers": 2}),
        (CONFIG, {"is_shuffled": True}),
        (CONFIG, {"chunk_bytes": 3000}),
        (CONFIG, {"shuffle": "engine"}),
        (ON_THE_FLY, {"workers": 2, "is_shuffled": True, "chunk_bytes": 3000}),
        (ON_THE_FLY, {"shuffle": "engine"}),
    ],
    ids=[
        *("two workers", "another order", "smaller chunks", "the engine's shuffle"),
        *("documents, all of these", "documents, the engine's shuffle"),
    ],
)
def test_bytes_are_the_same_however_a_job_is_run(
    expected, texts, model, tmp_path, config, settings
):
    settings = dict(settings)
    if settings.pop("is_shuffled", False):
        texts = random.Random(1).sample(texts, len(texts))
    assert run(texts, model, tmp_path / "d", config=config, **settings) == expected


PLACE = "memory://bucket/data"


@pytest.fixture
def make_there(texts, model, memory):
    """Makes the data set on storage; its files."""

    def make_there(shuffle="engine"):
        inputs = find_inputs({"books": tuple(texts)})
        run_job(inputs, PLACE, model=model, config=CONFIG, shuffle=shuffle)
        return {path.removeprefix(f"{PLACE}/"): data for path, data in memory.items()}

    return make_there


def test_on_storage_shards_of_a_killed_job_with_other_settings_go(files, make_there, memory):
    killed = f"{PLACE}/train/copy-00/part-00000-of-00099.tfrecord"
    memory[killed] = b"Whoever reads all shards would read it."
    memory[f"{PLACE}/of_others/train/part-00000-of-00099.tfrecord"] = b"It is not of this data."
    assert {*make_there()} == {*files, "of_others/train/part-00000-of-00099.tfrecord"}
    assert killed not in memory


def test_a_data_set_may_be_made_in_the_current_folder(files, texts, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_job(find_inputs({"books": tuple(texts)}), ".", model=model, config=CONFIG)
    assert contents(tmp_path) == [*files]


@pytest.mark.parametrize("shuffle", ["engine", "files"])
def test_a_remote_data_set_is_as_a_local_one(files, make_there, shuffle, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert make_there(shuffle) == files
    assert not list(tmp_path.rglob("make-data-*"))


@pytest.mark.parametrize("shuffle", ["engine", "files"])
def test_what_others_left_counts_as_undone(texts, model, memory, tmp_path, monkeypatch, shuffle):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    mark = {"fingerprint": "x", "text_bytes": 7, "counts": {"documents": 1}}
    for place in (PLACE, chunks_folder(PLACE)):
        write_whole(join(place, chunk_file(0, "json")), json_text(mark))
    half = chunks_folder(PLACE) / f"{chunk_file(0, 'documents')}.tmp-4711"
    half.write_bytes(bytes(700))
    sidecar = {"fingerprint": "x", "files": []}
    write_whole(join(PLACE, sidecar_file("train", 0)), json_text(sidecar))
    seen = []

    @contextlib.contextmanager
    def shown(_):
        seen.append(ProgressReader(PLACE, work=job.shared_folder).poll())
        yield

    job = plan_job(find_inputs({"books": tuple(texts)}), CONFIG, model=model, output=PLACE)
    job = dataclasses.replace(job, shuffle=shuffle)
    make_data.make_data(job, shown=shown)
    assert seen == [Done()]


def test_an_engine_joins_of_a_chunk_only_its_documents_and_counts(texts, model, tmp_path):
    # Flink refuses what it has joined under one key if that is a few megabytes.
    inputs = find_inputs({"books": tuple(texts)})
    config = dataclasses.replace(CONFIG, near_duplicates="keep")
    job = plan_job(inputs, config, model=model, output=tmp_path / "data")
    (chunk,) = job.chunks
    found = make_data.read_on_cluster(chunk, job)
    (read,) = [one for one in found if not isinstance(one, ShardDocument | WorkItem)]
    assert read == Counted(0, read.counts)
    assert read.counts["documents"] == 16
    assert len(json.dumps(read.counts)) < 500
    assert read_json(job.shared_file(chunk_file(0, "look")))["documents"] == 16


@pytest.fixture
def made(monkeypatch):
    """The split and number of each shard as it is made."""
    made = []
    write_shard = make_data.write_shard

    def note(documents, shard, **settings):
        made.append((shard.split, shard.index))
        return write_shard(documents, shard, **settings)

    monkeypatch.setattr(make_data, "write_shard", note)
    return made


def test_a_stopped_job_goes_on_from_what_is_there(files, make, tmp_path, monkeypatch, made):
    note = make_data.write_shard

    def stop_at_the_second(documents, shard, **settings):
        if made:
            raise AlbertError("no more")
        return note(documents, shard, **settings)

    with monkeypatch.context() as patch:
        patch.setattr(make_data, "write_shard", stop_at_the_second)
        assert refusal(make) == "no more"
    assert not (tmp_path / "d/manifest.json").exists()
    # All chunks were read before.
    monkeypatch.delattr(make_data, "read_texts")
    assert make() == files
    assert sorted(made) == [("eval", 0), ("train", 0), ("train", 1), ("train", 2)]


@pytest.mark.parametrize("damage", ["missing", "short"])
@pytest.mark.parametrize(
    ("config", "name"),
    [
        (CONFIG, f"train/copy-01/{PARTS[1]}"),
        (CONFIG, HELD_OUT),
        (ON_THE_FLY, f"train/documents/{PARTS[1]}"),
    ],
    ids=["a copy", "held-out examples", "documents"],
)
def test_only_a_damaged_shard_is_made_again(make, expected, tmp_path, made, config, name, damage):
    made.clear()
    for path, data in expected.items():
        write_whole(f"{tmp_path}/d/{path}", data)
    if damage == "missing":
        (tmp_path / "d" / name).unlink()
    else:
        (tmp_path / "d" / name).write_bytes(expected[name][:-1])
    assert make(config=config) == expected
    assert made == [(name.split("/")[0], int(name.split("part-")[1][:5]))]


def test_only_a_damaged_remote_shard_is_made_again(files, make_there, made, memory):
    memory.update({f"{PLACE}/{name}": data for name, data in files.items()})
    del memory[f"{PLACE}/train/copy-01/{PARTS[1]}"]
    assert make_there() == files
    assert made == [("train", 1)]


def test_a_split_whose_documents_are_gone_is_read_again(files, make, tmp_path, monkeypatch):
    with failing(monkeypatch, make_data, "write_shard"):
        make()
    (tmp_path / "d/.work/split-00000.documents").unlink()
    assert make() == files


def test_another_seed_gives_other_records_of_the_text_for_itself_alone(files, make, tmp_path):
    other = make(config=dataclasses.replace(CONFIG, seed=7))
    shard = f"train/copy-00/{PARTS[0]}"
    assert other[shard] != files[shard]
    before, after = (json.loads(f["manifest.json"]) for f in (files, other))
    assert before["splits"]["train"]["documents"] == after["splits"]["train"]["documents"]
    (tmp_path / "d/manifest.json").unlink()
    assert make() == files


def test_a_worker_with_other_tools_is_refused(make, monkeypatch):
    def other(config, **given):
        return tool_versions(config, **given) | {"sentencex": "0.1"}

    monkeypatch.setattr(beam, "tool_versions", other)
    said = refusal(make, shuffle="engine")
    assert said.startswith("A worker has sentencex 0.1, but the job was made with 1")


@pytest.mark.parametrize(
    ("shuffle", "name"), [("files", "read_texts"), ("engine", "read_texts"), ("files", "add_up")]
)
def test_text_that_changes_makes_no_data_set(texts, model, tmp_path, monkeypatch, shuffle, name):
    paths = [shutil.copy(path, tmp_path) for path in texts]
    found = find_inputs({"books": tuple(paths)})
    before = getattr(make_data, name)

    def change(*given, **others):
        with open(paths[0], "a") as file:
            file.write("More.\n")
        return before(*given, **others)

    monkeypatch.setattr(make_data, name, change)
    settings = {"model": model, "config": CONFIG, "since": time.time(), "shuffle": shuffle}
    assert refusal(run_job, found, tmp_path / "d", **settings) == (
        f"{paths[0]} was changed while it was read; run the same command again when nothing "
        "writes to it."
    )
    assert not (tmp_path / "d/manifest.json").exists()
    monkeypatch.undo()
    assert run(paths, model, tmp_path / "d")["manifest.json"]


def test_text_that_is_only_touched_is_what_it_was(files, make):
    assert make(since=0.0) == files


@pytest.mark.parametrize("shuffle", ["files", "engine"])
def test_a_long_book_is_one_document_wherever_its_parts_lie(model, tmp_path, shuffle):
    paths = [tmp_path / f"{name}.txt" for name in ("one", "two", "two again")]
    for path, name in zip(paths, ("one", "two", "two"), strict=True):
        sentences = (f"This is statement {n} of book {name}." for n in range(5000))
        path.write_text("\n\n".join(sentences), encoding="utf-8")
    config = dataclasses.replace(CONFIG, eval_fraction=0.0)
    run(map(str, paths), model, tmp_path / "d", config=config, shuffle=shuffle)
    manifest = read_manifest(tmp_path / "d")
    assert manifest.splits["train"]["documents"] == 2
    assert manifest.dropped == {"duplicate document": 1}


@pytest.mark.parametrize("workers", [1, 2])
def test_in_another_thread_it_works_and_leaves_hooks_alone(files, make, workers):
    def hooks():
        signals = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
        log = (logging.root.manager.disable, logging.root.level, list(logging.root.handlers))
        return (threading.excepthook, *log, *map(signal.getsignal, signals))

    before, made = hooks(), []
    thread = threading.Thread(target=lambda: made.append(make(workers=workers)))
    thread.start()
    thread.join()
    assert made == [files]
    assert hooks() == before


def test_an_interrupt_inside_a_step_is_passed_on_as_what_it_is(make, monkeypatch):
    monkeypatch.setattr(make_data, "write_shard", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        make()


def test_holding_out_every_document_names_the_fraction(model, tmp_path):
    (tmp_path / "one.txt").write_text("It was late. He came.\n", encoding="utf-8")
    given = ([str(tmp_path / "one.txt")], model, tmp_path / "d")
    config = dataclasses.replace(CONFIG, eval_fraction=0.9)
    assert refusal(run, *given, config=config, error=NothingToTrainOn) == (
        "--eval-fraction 0.9 holds out every document (1), so that none is left to "
        "train on; give a smaller one, or more documents."
    )


def test_a_worker_that_never_began_ends_the_job_in_a_sentence(make, monkeypatch):
    false = ["-c", "raise SystemExit('no room for Beam')"]
    monkeypatch.setattr(worker_processes, "_COMMAND", false)
    assert refusal(make, workers=2) == (
        "A worker process ended with code 1 (no room for Beam); what is finished is "
        "kept: run the same command again."
    )


PROGRAM = """
import json, sys
from pathlib import Path
from schemas.errors import AlbertError
from tests.pipeline.job.test_make_data import run
output, model, texts = sys.argv[1:]
try:
    run(json.loads(texts), Path(model).read_bytes(), Path(output), workers=2, chunk_bytes=20000)
except AlbertError as error:
    sys.exit(str(error))
"""


def start(texts, model, output):
    path = output.parent / "m.model"
    path.write_bytes(model)
    command = (sys.executable, "-W", "ignore", "-c", PROGRAM, output, path, json.dumps(texts))
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def wait_for_workers(job):
    wait_until(lambda: job.poll() is not None or len(children_of(job)) >= 2)
    assert job.poll() is None
    return children_of(job)


@needs_proc
def test_a_killed_worker_ends_a_job_in_a_sentence_and_costs_nothing(
    files, make, texts, model, tmp_path
):
    """In the background too, where a shell lets jobs ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    job = start(texts, model, tmp_path / "d")
    signal.signal(signal.SIGINT, before)
    os.kill(wait_for_workers(job)[0], signal.SIGKILL)
    said = ended(job)
    assert job.returncode == 1
    assert said.splitlines()[-1].startswith("A worker process was killed, ")
    assert "Exception in thread" not in said
    assert make(chunk_bytes=20000) == files


@needs_proc
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_workers_of_a_job_that_is_killed_or_interrupted_end_with_it(texts, model, tmp_path, number):
    job = start(texts, model, tmp_path / "d")
    workers = wait_for_workers(job)
    job.send_signal(number)
    said = ended(job)
    await_end_of(workers)
    if number == signal.SIGINT:
        assert said.splitlines()[-1] == "KeyboardInterrupt"
        assert "Exception in thread" not in said
