"""What a report shows of a data set."""

import dataclasses
import shutil

import pytest

from pipeline.dataset.manifest import read_examples
from pipeline.dataset.report import dataset_remarks, dataset_section, plots
from schemas.layout import MANIFEST, TRAIN
from schemas.manifest import MOST_INPUTS, read_manifest
from tests.manifests import edit_manifest

SAMPLE = [
    {"input_ids": [2, 9, 3, 9, 3], "masked_lm_positions": [1], "masked_lm_ids": [9]},
    {"input_ids": [2, 9, 3, 9, 3], "masked_lm_positions": [], "masked_lm_ids": []},
    {"input_ids": [2, 4, 3, 4, 3], "masked_lm_positions": [1, 3], "masked_lm_ids": []},
    {"input_ids": [2, 9, 3, 4, 3], "masked_lm_positions": [3], "masked_lm_ids": [9]},
]


@pytest.fixture(scope="module")
def manifest(small):
    return read_manifest(small / "data")


BOOK = {"kind": "books", "format": "book", "language": "en", "bytes": 1_500_000}
DUMP = {"kind": "wikipedia", "format": "mediawiki", "language": "lv", "bytes": 2_000_000}


def changed(manifest, *, statistics=(), **changes):
    statistics = manifest.statistics | dict(statistics)
    return dataclasses.replace(manifest, statistics=statistics, **changes)


def test_the_facts_are_those_of_the_manifest(small, manifest):
    section = dataset_section(small / "data", title="mine", examples=0)
    train = manifest.splits[TRAIN]
    facts = dict(section.facts)
    assert (section.kind, section.title) == ("Data set", "mine")
    assert facts["training examples"] == sum(c["examples"] for c in train["copies"])
    assert facts["documents"] == train["documents"]
    assert facts["copies of the text"] == 2
    assert facts["vocabulary"] == "400 pieces"
    assert facts["longest example"] == "32 tokens"


@pytest.mark.parametrize(
    ("title", "changes", "labels", "values", "wanted"),
    [
        (
            "Length of the examples",
            # The last lengths end where examples must.
            {"statistics": {"length_histogram": {"0-31": 7, "32-63": 5}}},
            *(("0–31", "32"), (7, 5), None),
        ),
        (
            *("Words masked together", {"statistics": {"ngram_shares": {"1": 0.5, "3": 0.5}}}),
            *(("1", "2", "3"), (0.5, 0.0, 0.5), (6 / 11, 3 / 11, 2 / 11)),
        ),
        (
            "What is at masked places",
            {"statistics": {"mask_token_share": 0.7, "kept_share": 0.2, "random_share": 0.1}},
            *(("[MASK]", "kept", "another"), (0.7, 0.2, 0.1), (0.8, 0.1, 0.1)),
        ),
        (
            *("Label of the sentence task", {"statistics": {"label_1_share": 0.25}}),
            *(("in order", "swapped"), (0.75, 0.25), (0.5, 0.5)),
        ),
        ("Masked tokens in an example", {}, ("0", "1", "2"), (1, 2, 1), None),
        # Sources are added up by how they are read.
        (
            *("Sources", {"inputs": (BOOK, DUMP, BOOK)}),
            ("books: book (en), 2 files", "wikipedia: mediawiki (lv), 1 file"),
            *((3.0, 2.0), None),
        ),
        # The most frequent reason first.
        (
            *("Left out, by reason", {"dropped": {"no text": 2, "redirect": 30}}),
            *(("redirect", "no text"), (30, 2), None),
        ),
    ],
)
def test_a_plot_shows_what_is_there_beside_what_is_wanted(
    manifest, title, changes, labels, values, wanted
):
    (shown,) = (p for p in plots(changed(manifest, **changes), SAMPLE) if p.title == title)
    assert (shown.labels, shown.values) == (labels, values)
    assert not wanted or shown.wanted == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("task", "labels"), [("nsp", [("B follows A", "B is from elsewhere")]), ("none", [])]
)
def test_labels_are_named_by_the_sentence_task(manifest, task, labels):
    config = dataclasses.replace(manifest.config, sentence_task=task)
    shown = plots(changed(manifest, config=config), SAMPLE)
    assert [p.labels for p in shown if p.title == "Label of the sentence task"] == labels


def test_many_numbers_of_masked_pieces_are_put_in_classes(manifest):
    sample = [{"input_ids": [], "masked_lm_positions": range(n)} for n in (0, 1, 2, 76, 77)]
    masked = next(p for p in plots(manifest, sample) if p.title == "Masked tokens in an example")
    assert masked.labels == tuple(f"{n}–{n + 1}" for n in range(0, 78, 2))
    assert masked.values == (2, 1, *36 * [0], 2)


def test_many_inputs_are_added_up_from_the_smallest(small, tmp_path, manifest):
    source = {"kind": "text", "format": "prose", "language": "en", "sha256": "f" * 64}
    inputs = tuple(source | {"name": f"{n}.txt", "bytes": n} for n in range(1, MOST_INPUTS + 3))
    data = shutil.copytree(small / "data", tmp_path / "data")
    edit_manifest(data / MANIFEST, lambda values: values.update(inputs=inputs))
    tables = dataset_section(data, title="data", examples=0).tables
    (table,) = (t for t in tables if t.title == f"Input files ({MOST_INPUTS + 2})")
    assert len(table.rows) == MOST_INPUTS + 1
    assert table.rows[0] == ("102.txt", "prose", "en", 102, "ffffffffffff")
    assert table.rows[-1] == ("and 2 smaller files", "", "", 3, "")


def test_the_examples_are_the_first_records(small, manifest):
    examples = dataset_section(small / "data", title="data", examples=3).examples
    records = list(read_examples(small / "data", manifest, split=TRAIN, copy=0))[:3]
    assert [sum(bool(p.original) for s in each.segments for p in s) for each in examples] == [
        len(record["masked_lm_ids"]) for record in records
    ]


def test_a_report_claims_that_all_is_there_only_where_it_is(manifest):
    for dropped, is_claimed in (({}, True), ({"x": 1}, False)):
        remarks = dataset_remarks(changed(manifest, dropped=dropped, changed={}))
        assert ("Nothing of the text was left out." in remarks) == is_claimed
