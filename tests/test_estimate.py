"""What a job will make, told by a small part of it."""

import gzip
from pathlib import Path

import pytest

from pipeline import estimate
from pipeline.formats import KINDS
from pipeline.inputs import find_inputs
from schemas.config import DataConfig
from tests.commands import attempt

CONFIG = DataConfig(max_seq_length=64, dupe_factor=3).resolved(input_bytes=0)


@pytest.fixture
def inputs(topics, tmp_path):
    """Forty books."""
    for number, document in enumerate(topics[:40]):
        text = document.text.replace("\n", "\n\n")
        (tmp_path / f"{number:02}.txt").write_text(text, encoding="utf-8")
    return find_inputs(dict.fromkeys(KINDS, ()) | {"books": (str(tmp_path),)})


def test_of_a_small_input_all_is_done_and_the_estimate_is_exact(inputs, tokenizer):
    expected = estimate.estimate(inputs, CONFIG, tokenizer=tokenizer)
    documents, sample_bytes = estimate.read_sample(inputs)
    one, _ = estimate._write(documents, CONFIG, tokenizer=tokenizer, copies=1)
    assert expected.sample_bytes == sample_bytes == sum(f.bytes for f in inputs)
    assert expected.examples == 3 * one["examples"]
    assert expected.output_bytes == 3 * one["bytes"]
    assert expected.cpu_seconds > 0


def test_of_a_large_input_a_few_places_are_read(inputs, tokenizer, monkeypatch):
    whole = estimate.estimate(inputs, CONFIG, tokenizer=tokenizer)
    monkeypatch.setattr(estimate, "BYTES_AT_A_PLACE", 4_000)
    part = estimate.estimate(inputs, CONFIG, tokenizer=tokenizer)
    assert part.sample_bytes < whole.sample_bytes / 2
    assert part.examples == pytest.approx(whole.examples, rel=0.25)
    assert part.waiting_bytes == pytest.approx(whole.waiting_bytes, rel=0.25)


def test_of_a_file_that_cannot_be_divided_the_beginning_is_read(
    inputs, tokenizer, monkeypatch, tmp_path
):
    text = "\n".join(Path(file.path).read_text() for file in inputs)
    path = tmp_path / "one.txt.gz"
    path.write_bytes(gzip.compress(text.encode(), 9))
    files = find_inputs(dict.fromkeys(KINDS, ()) | {"text": (str(path),)})
    whole, _ = estimate.read_sample(files)
    monkeypatch.setattr(estimate, "MOST_AT_A_PLACE", 20_000)
    part, sample_bytes = estimate.read_sample(files)
    assert part == whole[: len(part)]
    assert len(part) < len(whole)
    assert 20_000 < sample_bytes == sum(len(document.text) for document in part)


def test_plan_prints_and_makes_nothing(small, tmp_path):
    given = ("--text", small / "text", "--vocab", small / "vocab")
    code, said = attempt(
        *("make-data", *given, "--output", tmp_path / "d", "--plan"),
        *("--max-seq-length", 32, "--workers", 1),
    )
    assert code == 0
    text, derived, plan, size, seconds = said.splitlines()
    assert text.startswith("text: 24 files, ")
    assert derived == "derived: --max-predictions-per-seq 5 --num-shards 8"
    assert plan == (
        "plan: 1 split to read, 8 shards to train on and 1 held out, 10 copies"
    )
    assert size.startswith("about ")
    assert "with 1 worker on this machine" in seconds
    assert not (tmp_path / "d").exists()


def test_plan_needs_no_output_and_anything_else_does(small):
    given = ("--text", small / "text", "--vocab", small / "vocab")
    assert attempt("make-data", *given, "--plan")[0] == 0
    assert attempt("make-data", *given) == (
        2,
        "Error: --output: name the folder to write.\n",
    )
