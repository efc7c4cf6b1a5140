"""Near-copies go by the set of documents alone, however the job is run."""

import json
import random

import pytest

from pipeline.job.make_data import read_chunk
from pipeline.job.plan import plan_job
from pipeline.job.repeats import Signed
from pipeline.reading.inputs import find_held_out, find_inputs
from schemas.manifest import read_manifest
from tests.commands import contents
from tests.pipeline.job.jobs import config_of, run_job

WORDS = 150


SETTINGS = {"max_seq_length": 48, "dupe_factor": 1, "num_shards": 3}


@pytest.fixture(scope="module")
def documents(topics):
    """Twenty texts of their own, ten near-copies of some, and a copy of a copy."""
    draws = random.Random(1)
    words = [word for topic in topics for word in topic.text.split()]

    def text():
        return [draws.choice(words) for _ in range(WORDS)]

    own = [text() for _ in range(20)]
    copies = [[*one[: WORDS // 2], "changed", *one[WORDS // 2 + 1 :]] for one in own[:10]]
    copies.append([*copies[0][:-1], "last"])
    return [" ".join(one) + "." for one in (*own, *copies)]


def write_rows(path, texts, *, key="text"):
    path.write_text("".join(json.dumps({key: text}) + "\n" for text in texts))
    return path


def run(documents, model, folder, *, choice, files=1, held_out=(), eval_fraction=0.3, **settings):
    """Make a data set of the documents; returns its folder and its manifest.

    Args:
        held_out: Documents that are only held out.
    """
    folder.mkdir()
    for number in range(files):
        write_rows(folder / f"{number}.jsonl", documents[number::files])
    found = find_inputs({"text": (str(folder),)})
    if held_out:
        path = write_rows(folder / "held_out.jsonl", held_out, key="sentence")
        found += find_held_out([f"{path}:sentence"], flag="--eval-text")
    config = config_of(near_duplicates=choice, eval_fraction=eval_fraction, **SETTINGS)
    run_job(found, folder / "data", model=model, config=config, **settings)
    return folder / "data", read_manifest(folder / "data")


def records(output):
    names = (name for name in contents(output) if name.endswith(".tfrecord"))
    return {name: (output / name).read_bytes() for name in names}


def documents_of(manifest):
    return sum(split["documents"] for split in manifest.splits.values())


@pytest.fixture(scope="module")
def made(documents, model, tmp_path_factory):
    """The folder and the manifest of the data set of each choice."""
    folder = tmp_path_factory.mktemp("made")
    return {
        choice: run(documents, model, folder / choice, choice=choice)
        for choice in ("keep", "hold-out", "drop")
    }


def test_of_each_set_of_near_copies_one_stays(made):
    _, manifest = made["drop"]
    assert documents_of(manifest) == 20
    assert manifest.dropped == {"near-copy of another document": 11}


def test_no_document_to_train_on_nearly_equals_a_held_out_one(made):
    (_, kept), (_, manifest) = made["keep"], made["hold-out"]
    gone = manifest.dropped["document with held-out text"]
    assert manifest.splits["eval"] == kept.splits["eval"]
    assert manifest.splits["train"]["documents"] == (kept.splits["train"]["documents"] - gone)
    assert 0 < gone < 11


@pytest.mark.parametrize("shuffle", ["files", "engine"])
@pytest.mark.parametrize("choice", ["hold-out", "drop"])
def test_nearly_held_out_text_is_not_trained_on(documents, model, tmp_path, choice, shuffle):
    draws, own = random.Random(5), documents[:20]
    copies = [
        " ".join("other" if draws.random() < 0.02 else word for word in text.split())
        for text in own
        for _ in range(3)
    ]
    _, manifest = run(own + copies, model, tmp_path / "a", choice=choice, shuffle=shuffle)
    assert manifest.text["held_out_share_before"] > 0.5
    assert manifest.text["held_out_share"] == 0
    assert manifest.splits["train"]["documents"] > 3
    # It is told as what it is, and not as a near-copy of what is trained on.
    assert manifest.dropped["document with held-out text"] > 3


# How a job may be run, which shall not show.
WAYS = {
    "files": {"files": 3, "workers": 2, "chunk_bytes": 2000},
    "engine": {"files": 2, "shuffle": "engine", "chunk_bytes": 2000},
}


def test_order_files_workers_and_shuffle_do_not_matter(made, documents, model, tmp_path):
    expected = records(made["drop"][0])
    shuffled = random.Random(2).sample(documents, len(documents))
    for name, settings in {"order": {"documents": shuffled}, **WAYS}.items():
        given = {"documents": documents, "choice": "drop", "model": model} | settings
        output, _ = run(folder=tmp_path / name, **given)
        assert records(output) == expected, name


def test_a_text_that_comes_many_times_is_grouped_once_for_each_chunk(documents, model, tmp_path):
    path = write_rows(tmp_path / "rows.jsonl", documents[:2] * 20)
    found = find_inputs({"text": (str(path),)})
    config = config_of(near_duplicates="drop", **SETTINGS)
    job = plan_job(found, config, model=model, output=tmp_path / "data")
    (chunk,) = job.chunks
    assert sum(isinstance(found, Signed) for found in read_chunk(chunk, job)) == 2


def test_keep_changes_nothing_where_there_are_no_near_copies(documents, model, tmp_path):
    own = documents[:20]
    expected = records(run(own, model, tmp_path / "keep", choice="keep")[0])
    for choice in ("hold-out", "drop"):
        output, manifest = run(own, model, tmp_path / choice, choice=choice)
        assert records(output) == expected
        assert sum(manifest.dropped.values()) == 0


def test_a_long_document_goes_with_all_its_parts(documents, model, tmp_path):
    draws = random.Random(4)
    vocabulary = " ".join(documents).split()
    sentences = [
        " ".join(draws.choice(vocabulary) for _ in range(12)).rstrip(".") + "." for _ in range(5000)
    ]
    copy = [*sentences[:2500], "An added sentence.", *sentences[2500:]]
    texts = [" ".join(sentences), " ".join(copy)]
    _, manifest = run(texts, model, tmp_path / "long", choice="drop")
    assert documents_of(manifest) == 1
    assert manifest.dropped == {"near-copy of another document": 1}


def test_text_to_be_held_out_takes_its_near_copies_out_of_training(documents, model, tmp_path):
    own, copies = documents[:20], documents[20:]
    given = {"held_out": [*copies, own[15]], "eval_fraction": 0}
    _, manifest = run(own + copies[:1], model, tmp_path / "a", choice="hold-out", **given)
    # The ten that were copied, one copy, and one that is held out as it is.
    assert manifest.dropped == {"document with held-out text": 12}
    assert manifest.splits["eval"]["documents"] == 12
    assert manifest.splits["train"]["documents"] == 9
    described = [one for one in manifest.inputs if one.get("split") == "eval"]
    assert [(one["name"], one["text_key"]) for one in described] == [("held_out.jsonl", "sentence")]


def test_held_out_text_is_the_same_however_the_job_is_run(documents, model, tmp_path):
    given = {"documents": documents[:20], "model": model, "choice": "hold-out"}
    held_out = documents[20:]
    expected, manifest = run(folder=tmp_path / "one", held_out=held_out, **given)
    # Several files are another order too.
    for name, settings in WAYS.items():
        output, _ = run(folder=tmp_path / name, held_out=held_out, **given, **settings)
        assert records(output) == records(expected), name
    # Text given to be held out is held out beside the share, and draws nothing.
    _, fraction = run(folder=tmp_path / "without", **given)
    assert manifest.splits["eval"]["documents"] == 11 + fraction.splits["eval"]["documents"]
