"""The manifest, the data card and the fingerprint of a data set."""

import dataclasses
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from pipeline.core.documents import ReadingCounts
from pipeline.dataset.manifest import data_card, make_manifest, write_dataset
from pipeline.dataset.shard import plan_dataset
from schemas.config import DataConfig
from schemas.errors import AlbertError
from schemas.layout import shard_file
from schemas.manifest import read_manifest
from tests.refusals import refusal

CONFIG = DataConfig(
    max_seq_length=128, max_predictions_per_seq=19, dupe_factor=2, num_shards=2, eval_fraction=0.1
).resolved(input_bytes=0)


def input_file(name, *, kind="text", sha256="7e" * 32):
    """A file as it describes itself."""
    read = {"format": "prose", "language": "en", "bytes": 12345}
    description = {"name": name, "kind": kind, "sha256": sha256} | read
    return SimpleNamespace(describe=lambda: description)


WIKI = input_file("wiki.xml", kind="wikipedia", sha256="aa" * 32)
BOOK = input_file("book.txt", kind="books", sha256="bb" * 32)


def plan(*files, config=CONFIG, vocabulary="5e" * 32):
    tokenizer = SimpleNamespace(sha256=vocabulary, vocab_size=30000)
    return plan_dataset(config, list(files), tokenizer=tokenizer)


def copy_counts(*, examples):
    """What a sidecar says of one copy; each example has 100 pieces, 15 masked."""
    of_each = {"examples": 1, "tokens": 100, "masked": 15}
    of_each |= {"masked_as_mask": 12, "masked_kept": 2, "masked_random": 1}
    totals = {name: count * examples for name, count in of_each.items()}
    return {
        "totals": totals | {"swapped": examples // 2},
        "spans": {"1": 6 * examples, "2": 3 * examples, "3": 2 * examples},
        "lengths": {"96": examples},
    }


def sidecar(split, shard, *, examples, documents=1, dropped=()):
    """A shard with these numbers of examples in its copies."""
    num_shards, files = 2 if split == "train" else 1, []
    for copy, count in enumerate(examples):
        name = shard_file(split, copy, shard=shard, num_shards=num_shards)
        numbers = {"examples": count, "bytes": 1000 * count, "sha256": f"{shard}{copy}" * 32}
        files.append({"name": name} | numbers)
    return {
        **{"split": split, "shard": shard, "documents": documents, "dropped": dict(dropped)},
        **{"files": files, "copies": [copy_counts(examples=count) for count in examples]},
    }


SIDECARS = [
    sidecar("train", 1, examples=[6, 4], documents=3, dropped={"duplicate document": 2}),
    sidecar("eval", 0, examples=[2]),
    sidecar("train", 0, examples=[10, 12], documents=4),
]
READ = ReadingCounts(documents=10, dropped=Counter({"redirect": 5, "duplicate document": 1}))


@pytest.fixture
def manifest():
    return make_manifest(plan(WIKI, BOOK), SIDECARS, READ)


def card_of(manifest, **changes):
    return data_card(dataclasses.replace(manifest, **changes))


def test_documents_and_copies_are_added_up_by_split_and_statistics_are_those_of_training(manifest):
    copy = {"examples": 16, "tokens": 1600, "masked_tokens": 240}
    held_out = {"examples": 2, "tokens": 200, "masked_tokens": 30}
    assert manifest.splits == {
        "train": {"documents": 7, "copies": [copy, copy]},
        "eval": {"documents": 1, "copies": [held_out]},
    }
    assert manifest.statistics["length_histogram"] == {"96-127": 32}


def test_without_held_out_documents_the_split_is_empty():
    config = dataclasses.replace(CONFIG, eval_fraction=0.0)
    manifest = make_manifest(plan(BOOK, config=config), SIDECARS[:1], READ)
    assert manifest.splits["eval"] == {"documents": 0, "copies": []}


def test_a_data_set_is_its_card_and_its_manifest_in_any_order_of_what_it_is_of(tmp_path, manifest):
    write_dataset(plan(BOOK, WIKI), SIDECARS[::-1], READ, output=tmp_path, look={})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["README.md", "manifest.json"]
    assert read_manifest(tmp_path) == manifest
    names = [file.name for file in manifest.shards]
    assert names == sorted(names)


def test_the_manifest_is_written_last(tmp_path):
    (tmp_path / "README.md").mkdir()
    with pytest.raises(AlbertError, match="README"):
        write_dataset(plan(WIKI, BOOK), SIDECARS, READ, output=tmp_path, look={})
    assert not (tmp_path / "manifest.json").exists()


def test_inputs_without_a_document_are_one_sentence_with_the_reasons(tmp_path):
    nothing = [sidecar("train", 0, examples=[0], dropped={"document of one word": 2})]
    read = ReadingCounts(dropped=Counter(redirect=5))
    assert refusal(write_dataset, plan(BOOK), nothing, read, output=tmp_path, look={}) == (
        "The inputs give no document to train on "
        "(left out: 5 x redirect; 2 x document of one word)."
    )
    assert list(tmp_path.iterdir()) == []


def test_the_fingerprint_is_that_of_what_decides_the_bytes(monkeypatch):
    wanted = plan(WIKI, BOOK).fingerprint()
    assert plan(BOOK, WIKI).fingerprint() == wanted
    others = [
        plan(WIKI),
        plan(WIKI, BOOK, config=dataclasses.replace(CONFIG, seed=1)),
        plan(WIKI, BOOK, vocabulary="5f" * 32),
        plan(WIKI, input_file("book.txt", kind="books", sha256="bc" * 32)),
    ]
    assert wanted not in [other.fingerprint() for other in others]
    monkeypatch.setattr("pipeline.dataset.shard.__version__", "99.0")
    assert plan(WIKI, BOOK).fingerprint() != wanted


def test_the_data_card_describes_the_data_for_a_person(manifest):
    golden = Path(__file__).parent / "golden" / "data_card.md"
    assert data_card(manifest) == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("counts", [{}, {"dropped": {"x": 1}}, {"changed": {"x": 1}}])
def test_a_card_says_that_nothing_was_left_out_only_where_that_is_so(manifest, counts):
    card = card_of(manifest, **{"dropped": {}, "changed": {}} | counts)
    assert ("\nNothing was left out.\n" in card) == (not counts)
    assert ("\n| x | 1 |\n" in card) == bool(counts)


def test_a_small_share_is_not_shown_as_none(manifest):
    card = card_of(manifest, statistics=manifest.statistics | {"unknown_share": 0.00038})
    assert "\n| unknown tokens | 0.038% |\n" in card


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a|b\n\x1b[2J", r"a\|b \\u001b\[2J"),
        ("<script>alert(1)</script>.txt", "&lt;script&gt;alert(1)&lt;/script&gt;.txt"),
        ("[a](b) `c` *d*", r"\[a\](b) \`c\` \*d\*"),
        ("\u202etxt.exe", r"\\u202etxt.exe"),
        ("d\u2019\u00e9t\u00e9.txt", "d\u2019\u00e9t\u00e9.txt"),
    ],
)
def test_a_name_cannot_break_the_table_or_command_the_terminal(manifest, name, shown):
    card = card_of(manifest, inputs=(manifest.inputs[0] | {"name": name},))
    assert f"\n| {shown} | prose | en |" in card
