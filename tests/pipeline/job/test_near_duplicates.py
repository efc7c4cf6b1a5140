"""Near-copies go by the set of documents alone, however the job is run."""

import json
import random
from collections import Counter

import pytest

from pipeline.job.make_data import make_dataset
from pipeline.job.steps import plan_job
from pipeline.job.worker_processes import WorkerProcesses
from pipeline.reading.chunks import CHUNK_BYTES
from pipeline.reading.formats import KINDS
from pipeline.reading.inputs import find_inputs
from schemas.config import DataConfig
from schemas.manifest import read_manifest

WORDS = 150


def config(near_duplicates):
    return DataConfig(
        max_seq_length=48,
        dupe_factor=1,
        num_shards=3,
        eval_fraction=0.3,
        near_duplicates=near_duplicates,
    ).resolved(input_bytes=0)


@pytest.fixture(scope="module")
def documents(topics):
    """Twenty texts of their own, ten near-copies of some, and a copy of a copy."""
    draws = random.Random(1)
    words = [word for topic in topics for word in topic.text.split()]

    def text():
        return [draws.choice(words) for _ in range(WORDS)]

    own = [text() for _ in range(20)]
    copies = [
        [*one[: WORDS // 2], "changed", *one[WORDS // 2 + 1 :]] for one in own[:10]
    ]
    copies.append([*copies[0][:-1], "last"])
    return [" ".join(one) + "." for one in (*own, *copies)]


def run(
    documents,
    model,
    folder,
    *,
    choice,
    workers=None,
    files=1,
    chunk_bytes=CHUNK_BYTES,
    shuffle=None,
):
    """Make a data set of the documents; returns its folder and its manifest."""
    folder.mkdir()
    paths = [folder / f"{number}.jsonl" for number in range(files)]
    for number, path in enumerate(paths):
        lines = [json.dumps({"text": one}) for one in documents[number::files]]
        path.write_text("\n".join(lines) + "\n")
    output = folder / "data"
    output.mkdir()
    given = dict.fromkeys(KINDS, ()) | {"text": tuple(map(str, paths))}
    found = find_inputs(given)
    job = plan_job(
        found, config(choice), model=model, output=output, chunk_bytes=chunk_bytes
    )
    make_dataset(job, workers=workers, shuffle=shuffle)
    return output, read_manifest(output)


def records(output):
    return {
        str(path.relative_to(output)): path.read_bytes()
        for path in sorted(output.rglob("*.tfrecord"))
    }


def documents_of(manifest):
    return sum(split["documents"] for split in manifest.splits.values())


def test_of_each_set_of_near_copies_one_stays(documents, model, tmp_path):
    _, manifest = run(documents, model, tmp_path / "a", choice="drop")
    assert documents_of(manifest) == 20
    assert manifest.dropped == {"near-copy of another document": 11}


def test_no_document_to_train_on_nearly_equals_a_held_out_one(
    documents, model, tmp_path
):
    _, kept = run(documents, model, tmp_path / "kept", choice="keep")
    _, manifest = run(documents, model, tmp_path / "a", choice="hold-out")
    gone = manifest.dropped["near-copy of a held-out document"]
    assert manifest.splits["eval"] == kept.splits["eval"]
    assert manifest.splits["train"]["documents"] == (
        kept.splits["train"]["documents"] - gone
    )
    assert 0 < gone < 11


@pytest.mark.parametrize("choice", ["hold-out", "drop"])
def test_order_files_workers_and_shuffle_do_not_matter(
    documents, model, tmp_path, choice
):
    expected = records(run(documents, model, tmp_path / "one", choice=choice)[0])
    shuffled = random.Random(2).sample(documents, len(documents))
    with WorkerProcesses(2) as workers:
        for name, settings in {
            "order": {"documents": shuffled},
            "files": {"files": 3, "workers": workers, "chunk_bytes": 2000},
            "engine": {"files": 2, "shuffle": "engine", "chunk_bytes": 2000},
        }.items():
            given = {
                "documents": documents,
                "choice": choice,
                "model": model,
            } | settings
            output, _ = run(folder=tmp_path / name, **given)
            assert records(output) == expected, name


def test_keep_changes_nothing_where_there_are_no_near_copies(
    documents, model, tmp_path
):
    own = documents[:20]
    expected = records(run(own, model, tmp_path / "keep", choice="keep")[0])
    for choice in ("hold-out", "drop"):
        output, manifest = run(own, model, tmp_path / choice, choice=choice)
        assert records(output) == expected
        assert Counter(manifest.dropped).total() == 0


def test_a_long_document_goes_with_all_its_parts(documents, model, tmp_path):
    draws = random.Random(4)
    vocabulary = " ".join(documents).split()
    sentences = [
        " ".join(draws.choice(vocabulary) for _ in range(12)).rstrip(".") + "."
        for _ in range(20_000)
    ]
    copy = [*sentences[:10_000], "An added sentence.", *sentences[10_000:]]
    texts = [" ".join(sentences), " ".join(copy)]
    _, manifest = run(texts, model, tmp_path / "long", choice="drop")
    assert documents_of(manifest) == 1
    assert manifest.dropped == {"near-copy of another document": 1}
