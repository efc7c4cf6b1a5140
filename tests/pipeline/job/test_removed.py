"""What is removed is written with its reason; with what stays it is the input."""

import dataclasses
import json
import random

import pytest

from pipeline.core.documents import ReadingCounts
from pipeline.job import make_data, repeats
from pipeline.noise import filters
from pipeline.noise.filters import OTHER_LANGUAGE, REPEATED
from pipeline.reading.inputs import find_inputs
from pipeline.reading.read import hash_document, read_texts
from schemas.files import TEMPORARY
from schemas.manifest import read_manifest
from tests.commands import contents
from tests.pipeline.job.jobs import config_of, failing, run_job

REMOVING = {"near_duplicates": "drop", "max_line_repeats": 4}
CONFIG = config_of(max_seq_length=48, dupe_factor=1, num_shards=2, eval_fraction=0.3, **REMOVING)


@pytest.fixture(scope="module")
def texts(topics, tmp_path_factory):
    """Pages with banners, of which some are near-copies."""
    path = tmp_path_factory.mktemp("pages") / "pages.jsonl"
    pages = []
    for number, topic in enumerate(topics[:24]):
        lines = topic.text.split("\n")[:30]
        banner = ["Accept all cookies"] if number % 2 else ["Sign in", "  Menu "]
        pages.append("\n".join([*banner, *lines, f"Page {number}."]))
    # The same page five times is one document.
    pages += [pages[0] + "\nRead more.", *(pages[1] for _ in range(5))]
    path.write_text("".join(json.dumps({"text": page}) + "\n" for page in pages))
    return path


def run(path, model, output, **changed):
    given = {"config": CONFIG, "chunk_bytes": 3000} | changed
    inputs, removed = find_inputs({"text": (str(path),)}), output / "removed"
    job = run_job(inputs, output / "data", model=model, removed=str(removed), **given)
    paths = sorted(removed.glob("*"))
    lines = "".join(path.read_text() for path in paths).splitlines()
    return job, [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def made(texts, model, tmp_path_factory):
    output = tmp_path_factory.mktemp("made") / "first"
    return output, *run(texts, model, output)


def test_kept_and_removed_together_are_the_input(made):
    output, job, removed = made
    read = []
    for chunk in job.chunks:
        for document, _ in read_texts(chunk, counts=ReadingCounts()):
            name = hash_document(document).hex()
            read += ((name, *one) for one in enumerate(document.paragraphs))
    gone = {(one["document"], one["paragraph"], one["text"]) for one in removed}
    assert gone < set(read)
    kept = [one for one in read if one not in gone]
    texts = [text for *_, text in kept]
    assert "Accept all cookies" not in texts
    assert "Sign in" not in texts
    assert sum(text.startswith("Page ") for text in set(texts)) == 24
    manifest = read_manifest(output / "data")
    assert sum(split["documents"] for split in manifest.splits.values()) == 24


def test_what_is_removed_is_counted_by_reason_and_lines_in_different_documents(made):
    output, _, removed = made
    dropped = read_manifest(output / "data").dropped
    repeated = [one["text"] for one in removed if one["reason"] == REPEATED]
    assert dropped[REPEATED] == len(repeated)
    near = {one["document"] for one in removed if one["reason"].startswith("near-copy")}
    assert dropped["near-copy of another document"] == len(near) == 1
    # "Read more." stands in one, and those of the page that comes six times in one.
    assert {"Accept all cookies", "Sign in", "Menu"} <= set(repeated)
    assert not any(text.startswith("Page ") for text in repeated)


@pytest.mark.parametrize("way", [{"shuffle": "engine"}, {"workers": 2}], ids=str)
def test_every_way_of_working_removes_the_same(way, made, texts, model, tmp_path):
    output, _, removed = made
    _, same = run(texts, model, tmp_path / "d", **way)
    assert same == removed
    for name in contents(output / "data"):
        assert (tmp_path / "d/data" / name).read_bytes() == (output / "data" / name).read_bytes()


def test_another_order_and_other_chunks_remove_the_same(made, texts, model, tmp_path):
    _, _, removed = made
    lines = texts.read_text().splitlines(keepends=True)
    path = tmp_path / "pages.jsonl"
    path.write_text("".join(random.Random(2).sample(lines, len(lines))))
    _, same = run(path, model, tmp_path / "d", chunk_bytes=1 << 20)
    assert sorted(map(json.dumps, same)) == sorted(map(json.dumps, removed))


def test_documents_of_other_languages_go(texts, model, tmp_path, monkeypatch):
    monkeypatch.setattr(filters, "language_of", lambda text: "en" if "cookies" in text else "uk")
    config = dataclasses.replace(CONFIG, keep_languages="uk,de", max_line_repeats=None)
    _, removed = run(texts, model, tmp_path / "d", config=config)
    other = {one["document"] for one in removed if one["reason"] == OTHER_LANGUAGE}
    dropped = read_manifest(tmp_path / "d/data").dropped
    # Those with a banner of cookies, one of them six times.
    assert (len(other), dropped[OTHER_LANGUAGE]) == (12, 17)


def test_on_a_cluster_what_is_removed_of_each_chunk_is_work_of_its_own(made):
    _, job, _ = made
    firsts = [next(make_data.read_on_cluster(chunk, job)) for chunk in job.chunks]
    assert len(firsts) > 2
    assert firsts == list(job.chunks)
    tasks = [next(make_data.by_item(chunk, job)) for chunk in firsts]
    assert tasks == [(("removed", chunk.number), (chunk,)) for chunk in job.chunks]


def test_lines_that_were_counted_are_not_counted_again(made, texts, model, tmp_path, monkeypatch):
    with failing(monkeypatch, repeats, "find_repeated"):
        run(texts, model, tmp_path / "d")
    read = []
    lines_of = repeats._lines_of

    def note(chunk, job):
        read.append(chunk.number)
        return lines_of(chunk, job)

    # As if the job had been interrupted here, and a worker killed while it wrote.
    (tmp_path / "d/removed").mkdir(exist_ok=True)
    (tmp_path / f"d/removed/removed-00000.jsonl{TEMPORARY}1").touch()
    (tmp_path / "d/data/.work/split-00001.lines").unlink()
    monkeypatch.setattr(repeats, "_lines_of", note)
    _, same = run(texts, model, tmp_path / "d")
    assert read == [1]
    assert same == made[2]
    assert contents(tmp_path / "d/removed") == contents(made[0] / "removed")
