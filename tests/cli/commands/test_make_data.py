"""`albert make-data`: what it says, and what it does not."""

import contextlib
import json
import os
import re
import resource
import signal
from types import SimpleNamespace

import pytest

from cli.support import console
from cli.support.data_summary import eval_advice
from pipeline.core import machine
from pipeline.job import estimate
from pipeline.job.make_data import forget_cache
from pipeline.job.plan import chunks_folder
from schemas.files import read_json
from schemas.locks import lock
from schemas.manifest import read_manifest
from tests.commands import EVAL_FRACTION, contents, make_data, refused, run
from tests.processes import albert

FILE_BYTES = 400_000


def limit_files():
    """As if the disk were full after so many bytes of a file."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))


@pytest.fixture(scope="module")
def whole(small, tmp_path_factory):
    """A data set of which nothing is held out, and what was said of it."""
    folder = tmp_path_factory.mktemp("whole")
    with contextlib.chdir(folder):
        said = make_data(small, "--eval-fraction", 0, output=folder / "my data")
    return folder / "my data", said


def test_the_next_command_is_said_quoted_for_the_shell_and_no_advice_that_nobody_needs(whole):
    folder, said = whole
    assert said.splitlines()[-2:] == [
        "Without --budget the next command would train ALBERT base as its authors did, on "
        "gigabytes of text and many GPUs; on a CPU that takes months to years, and needs --yes.",
        f"next: albert pretrain --data '{folder}' --output run --budget 1h",
    ]
    # Nothing is held out on purpose.
    assert "held-out examples, few" not in said
    said = run("inspect", folder, "--split", "eval")
    assert said.splitlines()[-1] == f"{folder} has no examples in its eval split."


def test_hashing_shows_how_far_it_is_and_one_is_said_in_the_singular(small, tmp_path, monkeypatch):
    monkeypatch.setattr(console, "LINE_SECONDS", 0.0)
    (tmp_path / "one.txt").write_text("It was late.\n", encoding="utf-8")
    flags = ("--dupe-factor", 1, "--eval-fraction", 0)
    said = make_data(small, *flags, text=tmp_path / "one.txt", output=tmp_path / "d")
    assert "hashing: 100%, " in said
    (summary,) = (line for line in said.splitlines() if line.startswith(str(tmp_path)))
    assert re.match(
        rf"{re.escape(str(tmp_path))}/d: 1 document in 1 copy, 1 example, \d+ tokens; "
        "0 held-out examples of 0 documents; ",
        summary,
    )


def test_a_small_held_out_split_is_said_with_a_fraction_that_works(small, tmp_path):
    said = make_data(small, "--eval-fraction", 0.01, output=tmp_path / "d")
    (advice,) = (line for line in said.splitlines() if "to measure on" in line)
    assert advice == (
        "No document is held out, to measure on; make the data again with "
        "--overwrite --eval-fraction 0.2865, to hold out about 7 documents with 543 examples."
    )
    again = ("--overwrite", "--eval-fraction", 0.2865)
    said = make_data(small, *again, output=tmp_path / "d")
    assert "to measure on" not in said
    assert " held-out examples of " in said


def split_of(documents, examples):
    return {"documents": documents, "copies": [{"examples": examples}]}


@pytest.mark.parametrize(
    ("fraction", "held_out", "trained", "advice"),
    [
        (
            *(0.2286, split_of(1, 694), split_of(21, 21_000)),
            "Only 694 held-out examples of 1 document, few to measure on; make the data again with "
            "--overwrite --eval-fraction 0.3598, to hold out about 5 documents with 4,263 "
            "examples.",
        ),
        (
            *(0.01, split_of(0, 0), split_of(3, 90)),
            "No document is held out, to measure on; make the data again with "
            "--overwrite --eval-text FILE, which holds out a file of your own, one of these or "
            "another.",
        ),
    ],
    ids=["a larger share", "too few documents to hold any out"],
)
def test_how_more_would_be_held_out_is_said(fraction, held_out, trained, advice):
    splits, config = {"eval": held_out, "train": trained}, SimpleNamespace(eval_fraction=fraction)
    assert eval_advice(SimpleNamespace(config=config, splits=splits, inputs=[{}, {}])) == advice


def test_text_of_your_own_is_held_out_instead_of_a_share_or_beside_it(small, tmp_path):
    (tmp_path / "task.csv").write_text(
        "number,sentence\n" + "".join(f"{n},The river is {n} feet.\n" for n in range(3))
    )
    own = next((small / "text").iterdir())
    flags = ("--eval-text", f"{tmp_path}/task.csv:sentence", "--eval-text", own)
    said = make_data(small, *flags, output=tmp_path / "data")
    assert "held out: 1 file" in said
    assert "few to measure on; more --eval-text would give more." in said
    manifest = read_manifest(tmp_path / "data")
    assert manifest.config.eval_fraction == 0
    # A file of the folder of --text is held out and not trained on.
    assert manifest.splits["eval"]["documents"] == 4
    assert manifest.splits["train"]["documents"] == 23
    recorded = read_json(tmp_path / "data" / "config.json")
    assert recorded["eval_text"] == [f"{tmp_path}/task.csv:sentence", str(own)]
    again = ("--config", tmp_path / "data" / "config.json", "--output", tmp_path / "again")
    run("make-data", *again, "--workers", 1)
    assert read_manifest(tmp_path / "again") == manifest
    flags = (*flags[:2], "--eval-fraction", EVAL_FRACTION)
    make_data(small, *flags, output=tmp_path / "both")
    known = read_manifest(small / "data").splits["eval"]["documents"]
    assert read_manifest(tmp_path / "both").splits["eval"]["documents"] == known + 3


def test_removed_text_is_not_written_of_a_data_set_that_is_finished(small, whole, tmp_path):
    (tmp_path / "pages").mkdir()
    for number in range(4):
        page = f"Page {number} is about rivers.\n\nAccept all cookies.\n"
        (tmp_path / "pages" / f"{number}.txt").write_text(page)
    output, removed = tmp_path / "data", tmp_path / "removed"
    flags = ("--text", tmp_path / "pages", "--max-line-repeats", 2, "--eval-fraction", 0)
    command = ("make-data", *flags, "--vocab", small / "vocab", "--output", output)
    run(*command)
    said = refused(*command, "--removed", removed)
    assert said.splitlines()[-1] == (
        f"Error: --removed: {output} is finished already, and what is removed is written while "
        "it is made; give --overwrite to make it again."
    )
    run(*command, "--removed", removed, "--overwrite")
    lines = [line for path in removed.iterdir() for line in path.read_text().splitlines()]
    assert [json.loads(line)["text"] for line in lines] == ["Accept all cookies."] * 4
    said = run(*command, "--removed", removed)
    assert said.splitlines()[-1] == f"{output} is finished already; nothing to do."
    # Of this text nothing was removed.
    folder, _ = whole
    flags = ("--eval-fraction", 0, "--removed", tmp_path / "none")
    said = make_data(small, *flags, output=folder)
    assert said.splitlines()[-1] == f"{folder} is finished already; nothing to do."


FAILURES = {
    "no document": (
        *("word\n", None),
        "The inputs give no document to train on (left out: 1 x document of one word)",
    ),
    "a full disk": (
        *("It was late, and dark.\n" * (FILE_BYTES // 10), limit_files),
        "{}/.work/split-00000.documents cannot be written: File too large",
    ),
}


@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.slow), 2])
@pytest.mark.parametrize(("text", "limit", "sentence"), FAILURES.values(), ids=FAILURES)
def test_a_job_that_fails_says_one_sentence_only(small, tmp_path, text, limit, sentence, workers):
    output = tmp_path / "d"
    (tmp_path / "a.txt").write_text(text, "utf-8")
    given = ("--text", tmp_path / "a.txt", "--vocab", small / "vocab", "--workers", workers)
    done = albert("make-data", *given, "--output", output, "--quiet", preexec_fn=limit)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"Error: {sentence.format(output)}.\n"
    assert not output.exists()


def test_what_follows_from_a_setting_follows_from_the_one_that_replaces_it(small, tmp_path):
    settings = read_json(small / "data/config.json")
    assert settings["max_seq_length"] == 32
    assert settings["max_predictions_per_seq"] is None
    given = ("--config", small / "data/config.json", "--max-seq-length", 64)
    said = run("make-data", *given, "--output", tmp_path / "d")
    assert "derived: --max-predictions-per-seq 10 --num-shards 8\n" in said


def test_a_cache_that_cannot_be_is_named_with_what_chooses_it(small, memory, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    given = ("--text", small / "text", "--vocab", small / "vocab")
    said = refused("make-data", *given, "--output", "memory://bucket/data")
    assert said.splitlines()[-1] == (
        f"Error: XDG_CACHE_HOME: {chunks_folder('memory://bucket/data')} cannot be "
        "made: Not a directory."
    )
    assert not memory


def test_a_job_of_a_cluster_leaves_the_cache_of_one_at_work_here(tmp_path):
    cache = tmp_path / "make-data-1"
    with lock(cache):
        forget_cache(cache)
        assert cache.exists()
    forget_cache(cache)
    assert not cache.exists()


def test_a_job_has_no_more_workers_than_the_cores_it_may_use(small, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {2, 3, 7}, raising=False)
    monkeypatch.setattr(machine, "_QUOTA", small / "none")
    monkeypatch.setattr(estimate, "_start_seconds", lambda: 1.5)
    monkeypatch.setattr(estimate, "busy_workers", lambda *_, **__: 64)
    given = ("make-data", "--text", small / "text", "--vocab", small / "vocab")
    assert " with 3 workers on this machine" in run(*given, "--plan")


def test_a_file_whose_name_is_not_utf8_is_read_and_named(small, tmp_path):
    text = (small / "text/assert.txt").read_bytes()
    path = tmp_path / os.fsdecode(b"caf\xe9.txt")
    path.write_bytes(text)
    make_data(small, "--dupe-factor", 1, text=path, output=tmp_path / "d")
    assert read_manifest(tmp_path / "d").inputs[0]["name"] == "caf\ufffd.txt"
    # The record of the settings has the name as it is.
    run("make-data", "--config", tmp_path / "d/config.json", "--output", tmp_path / "e")
    written = [(tmp_path / name / "manifest.json").read_bytes() for name in "de"]
    assert written[0] == written[1]


def test_text_vocabulary_and_data_set_may_all_be_on_storage(small, memory, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for path in (small / "text").iterdir():
        memory[f"memory://bucket/text/{path.name}"] = path.read_bytes()
    model = (small / "vocab/spiece.model").read_bytes()
    memory["memory://bucket/vocab/spiece.model"] = model
    command = (
        *("make-data", "--text", "memory://bucket/text", "--workers", 1),
        *("--vocab", "memory://bucket/vocab", "--max-seq-length", 32),
        *("--dupe-factor", 2, "--eval-fraction", EVAL_FRACTION),
        *("--output", "memory://bucket/data"),
    )
    *_, last = run(*command).splitlines()
    assert last.startswith("next: albert pretrain --data memory://bucket/data --output run")
    shards = {path: data for path, data in memory.items() if path.endswith(".tfrecord")}
    made = {path.removeprefix("memory://bucket/data/"): data for path, data in shards.items()}
    folder = small / "data"
    names = [name for name in contents(folder) if name.endswith(".tfrecord")]
    assert made == {name: (folder / name).read_bytes() for name in names}
    record = json.loads(memory["memory://bucket/data/config.json"])
    assert record["text"] == ["memory://bucket/text"]
    assert record["vocab"] == "memory://bucket/vocab"
    # What a job leaves that is killed after its manifest, before its end.
    memory["memory://bucket/data/.work/split-00000.json"] = b"{}"
    *_, last = run(*command).splitlines()
    assert last == "memory://bucket/data is finished already; nothing to do."
    assert not [path for path in memory if "/.work/" in path]
