import contextlib
import dataclasses
import functools
import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.errors import AlbertError
from schemas.files import json_text, read_json, write_json
from schemas.manifest import fingerprint_of, parse_manifest, read_manifest
from tests.manifests import places, with_fingerprint
from tests.refusals import refusal

GOLDEN = Path(__file__).parent / "golden" / "manifest-1.json"
MANIFEST = parse_manifest(read_json(GOLDEN), GOLDEN)


@pytest.fixture
def dataset(tmp_path):
    """A data set that is nothing but its manifest."""
    write_json(tmp_path / "manifest.json", MANIFEST.to_dict())
    return tmp_path


def test_a_manifest_is_written_as_it_always_was_and_read_back_as_it_was(dataset):
    assert read_manifest(dataset) == MANIFEST
    # One that says nothing of near-copies has them.
    assert MANIFEST.config.near_duplicates == "keep"
    assert MANIFEST.num_examples("train") == 9
    assert json_text(MANIFEST.to_dict()) == GOLDEN.read_text(encoding="utf-8")


def of_documents(**changes):
    """The manifest of the same data set with examples on the fly, and its changes."""
    documents = []
    for shard in MANIFEST.shard_files("train", 0):
        name = shard.name.replace("copy-00", "documents")
        documents.append(dataclasses.replace(shard, name=name, bytes=2 * shard.examples))
    train = MANIFEST.splits["train"] | {"copies": MANIFEST.splits["train"]["copies"][:1]}
    given = {"splits": MANIFEST.splits | {"train": train}, "shards": tuple(documents)}
    given["config"] = dataclasses.replace(MANIFEST.config, examples="on-the-fly")
    return with_fingerprint(dataclasses.replace(MANIFEST, **given | changes))


DOCUMENTS = of_documents().shards
FIRST = "train/documents/part-00000-of-00002.tfrecord"


def test_a_manifest_of_documents_names_them_for_every_epoch(dataset):
    write_json(dataset / "manifest.json", of_documents().to_dict())
    manifest = read_manifest(dataset)
    assert manifest == of_documents()
    assert manifest.has_documents
    assert manifest.shard_files("train", 0) == manifest.shard_files("train", 99) == manifest.shards
    assert manifest.shard_files("eval", 0) == ()
    assert manifest.num_examples("train") == 4


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"splits": MANIFEST.splits}, "train has 2 copies"),
        ({"shards": MANIFEST.shards[:2]}, "shards has a file of no copy"),
        ({"shards": DOCUMENTS[:1]}, f"'{FIRST}' is not the name of a file of copy train/00"),
        (
            {"shards": tuple(dataclasses.replace(file, bytes=7) for file in DOCUMENTS)},
            f"{FIRST} cannot hold 4 examples",
        ),
    ],
)
def test_a_manifest_of_documents_that_contradicts_itself_is_refused(dataset, changes, found):
    write_json(dataset / "manifest.json", of_documents(**changes).to_dict())
    assert refusal(read_manifest, dataset) == (
        f"{dataset}/manifest.json is damaged: {found}; make the data again with --overwrite."
    )


def test_the_files_of_a_copy_are_found_by_split_and_copy():
    assert [file.name for file in MANIFEST.shard_files("train", 0)] == [
        f"train/copy-00/part-0000{number}-of-00002.tfrecord" for number in (0, 1)
    ]
    assert len(MANIFEST.shard_files("train", 1)) == 2
    assert MANIFEST.shard_files("train", 2) == ()
    assert MANIFEST.shard_files("eval", 0) == ()
    assert [MANIFEST.num_copies(split) for split in ("train", "eval")] == [2, 0]


OTHER = "describes no data set of albert make-data; give the folder of one."
NEWER = "has format version 2 and this program reads 1; make the data again with this version."


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"format_version": 2}, NEWER),
        *(({"format": name}, OTHER) for name in (None, "albert-vocabulary")),
    ],
)
def test_the_manifest_of_another_version_or_of_something_else_is_refused(tmp_path, changes, said):
    values = MANIFEST.to_dict() | changes
    values = {key: value for key, value in values.items() if value is not None}
    write_json(tmp_path / "manifest.json", values)
    assert refusal(read_manifest, tmp_path) == f"{tmp_path}/manifest.json {said}"


def test_a_manifest_that_is_not_a_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "manifest.json")
    assert "has no manifest.json" in refusal(read_manifest, tmp_path)


def test_the_copy_in_a_run_has_another_remedy():
    values = json.loads(json_text(MANIFEST.to_dict())) | {"shards": None}
    assert refusal(parse_manifest, values, "run/data_manifest.json") == (
        "run/data_manifest.json is damaged: 'NoneType' object is not iterable; copy "
        "the manifest.json of its data set over it."
    )


class Nothing:
    """What stands where a key is left out."""

    def __repr__(self):
        return "left out"


def put(*place, to):
    """An edit: another value at a place of the JSON object, or none."""

    def edit(values):
        for key in place[:-1]:
            values = values[key]
        values[place[-1]] = to
        if isinstance(to, Nothing):
            del values[place[-1]]

    edit.__name__ = f"{'.'.join(map(str, place))}={to!r:.20}"
    return edit


leave_out = functools.partial(put, to=Nothing())
COPY = ("splits", "train", "copies", 0)
NAME = "train/copy-00/part-00000-of-00002.tfrecord"
NO_FILE = "shards has a file of no copy"

EDITS = [
    *(
        (leave_out(key), f"it has no {key!r}")
        for key in (
            *("config", "vocabulary", "fingerprint", "versions", "inputs"),
            *("splits", "statistics", "dropped", "changed", "shards"),
        )
    ),
    (leave_out("config", "num_shards"), "'num_shards'"),
    (leave_out("splits", "eval"), "splits are not train and eval"),
    (put("splits", "../..", to={}), "splits are not train and eval"),
    (leave_out(*COPY, "examples"), "it has no 'examples'"),
    (leave_out("shards", 1, "sha256"), "'sha256'"),
    (put("config", "num_shards", to=None), "num_shards must be of type int, not None"),
    (put("config", "max_seq_length", to=7), "--max-seq-length must be at least 8, not 7"),
    (put("vocabulary", "size", to="400"), "vocabulary.size must be of type int"),
    (put("splits", "train", "copies", to=[]), "train has 0 copies"),
    (put("shards", 0, "examples", to="4"), "examples must be of type int, not '4'"),
    (put("shards", 0, "name", to=7), "name must be of type str, not 7"),
    (put("shards", 0, "path", to=""), "'path' is not a setting"),
    # What is shown and read nowhere else.
    (put(*COPY, "tokens", to=[1396]), "splits.train.copies.tokens must be of type int, not [1396]"),
    (put("splits", "eval", "documents", to=-3), "splits.eval.documents is -3"),
    (put("statistics", "fill", to="0.9"), "statistics.fill must be of type float, not '0.9'"),
    (put("statistics", "fill", to=float("nan")), "statistics.fill is nan"),
    (leave_out("statistics", "ngram_shares"), "it has no 'ngram_shares'"),
    (put("dropped", to={"empty": None}), "dropped.empty must be of type int, not None"),
    (put("inputs", 0, "name", to=["a.txt"]), "inputs.name must be of type str, not ['a.txt']"),
    (put("text", to={"scripts": {}}), "it has no 'sampled_documents'"),
    # A name that is not that of a file of the data set.
    *(
        (put("shards", 0, "name", to=name), found)
        for name, found in (
            *((name, NO_FILE) for name in ("", "/dev/zero", "../secret", f"./{NAME}")),
            ("train/copy-07/part-00000-of-00002.tfrecord", NO_FILE),
            ("eval/copy-00/part-00000-of-00001.tfrecord", NO_FILE),
            ("train/copy-00/part-00001-of-00002.tfrecord", "not the name of a file of"),
            ("train/copy-00/..", "'train/copy-00/..' is not the name of a file of"),
        )
    ),
    (leave_out("shards", 1), "is not the name of a file of copy train/00"),
    # A number that another contradicts.
    (put("shards", 0, "examples", to=3), "copy train/00 has 4 examples, its files 3"),
    (put(*COPY, "examples", to=9), "copy train/00 has 9 examples, its files 4"),
    (put("shards", 0, "bytes", to=63), f"{NAME} cannot hold 4 examples"),
    (put("shards", 0, "examples", to=-1), f"{NAME} cannot hold -1 examples"),
    (put("shards", to=[]), "copy train/00 has 4 examples, its files 0"),
]


def agreeing(values):
    """The same with the fingerprint of what it says, as an attacker would edit it."""
    with contextlib.suppress(KeyError, TypeError):
        if values["fingerprint"] == MANIFEST.fingerprint:
            values["fingerprint"] = fingerprint_of(values)
    return values


@pytest.mark.parametrize(("edit", "found"), EDITS, ids=[edit.__name__ for edit, _ in EDITS])
def test_an_edited_manifest_is_refused_with_what_is_wrong(edit, found):
    values = json.loads(json_text(MANIFEST.to_dict()))
    edit(values)
    message = refusal(parse_manifest, agreeing(values), "data/manifest.json")
    assert message.startswith("data/manifest.json is damaged: ")
    assert message.endswith("; make the data again with --overwrite.")
    assert found in message


@pytest.mark.parametrize(
    "edit",
    [
        put("config", "seed", to=1),
        put("vocabulary", "size", to=31000),
        put("vocabulary", "sha256", to="5f" * 32),
        put("inputs", 0, "name", to="other.txt"),
        put("versions", "albert", to="0.2.0"),
        put("fingerprint", to="f1" * 32),
    ],
    ids=lambda edit: edit.__name__,
)
def test_an_edit_that_is_possible_by_itself_shows_in_the_fingerprint(edit):
    values = json.loads(json_text(MANIFEST.to_dict()))
    edit(values)
    assert refusal(parse_manifest, values, "data/manifest.json") == (
        "data/manifest.json is damaged: fingerprint does not match its config, inputs, "
        "vocabulary and versions; make the data again with --overwrite."
    )


PLACES = [place for place in places(json.loads(json_text(MANIFEST.to_dict()))) if place]
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.sampled_from([0, -1, 1 << 63, 1 << 200, "", "/dev/zero", "../..", NAME]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@settings(max_examples=200)
@given(st.lists(st.tuples(st.sampled_from(PLACES), ANYTHING), min_size=1, max_size=3))
def test_no_edit_makes_parsing_fail_in_another_way(edits):
    values = json.loads(json_text(MANIFEST.to_dict()))
    for place, value in edits:
        with contextlib.suppress(KeyError, IndexError, TypeError):
            put(*place, to=value)(values)
    with contextlib.suppress(AlbertError):
        parse_manifest(agreeing(values), "data/manifest.json")
