"""What a job will make, told by a small part of it."""

import bz2
import dataclasses
import gzip
import lzma
import re
from pathlib import Path

import pytest

from pipeline.job import estimate
from pipeline.noise.look import Looker, bounds_for
from pipeline.reading import plain_text
from pipeline.reading.inputs import find_inputs
from schemas.config import DataConfig
from tests.commands import run

CONFIG = DataConfig(max_seq_length=64, dupe_factor=3).resolved(input_bytes=0)


@pytest.fixture(autouse=True)
def start(monkeypatch):
    """No process is started to see how long that takes."""
    monkeypatch.setattr(estimate, "_start_seconds", lambda: 1.5)


@pytest.fixture
def inputs(topics, tmp_path):
    for number, document in enumerate(topics[:40]):
        text = document.text.replace("\n", "\n\n")
        (tmp_path / f"{number:02}.txt").write_text(text, encoding="utf-8")
    return find_inputs({"books": (str(tmp_path),)})


def sample_of(files):
    return estimate.read_sample(files, Looker(bounds_for(0)))


def test_of_a_small_input_all_is_done_and_the_estimate_is_exact(inputs, tokenizer):
    expected = estimate.estimate(inputs, CONFIG, tokenizer=tokenizer)
    documents, sample_bytes = sample_of(inputs)
    once = dataclasses.replace(CONFIG, dupe_factor=1)
    one, _ = estimate._write(documents, once, tokenizer=tokenizer)
    assert expected.sample_bytes == sample_bytes == sum(f.bytes for f in inputs)
    assert expected.examples == 3 * one["examples"]
    assert expected.stored_bytes == 3 * one["bytes"]
    assert expected.cpu_seconds > 0
    assert expected.start_seconds == 1.5


def test_of_a_large_input_a_few_places_are_read(inputs, tokenizer, monkeypatch):
    whole = estimate.estimate(inputs, CONFIG, tokenizer=tokenizer)
    monkeypatch.setattr(estimate, "PLACE_BYTES", 4_000)
    part = estimate.estimate(inputs, CONFIG, tokenizer=tokenizer)
    assert part.sample_bytes < whole.sample_bytes / 2
    assert part.examples == pytest.approx(whole.examples, rel=0.25)
    assert part.waiting_bytes == pytest.approx(whole.waiting_bytes, rel=0.25)


def test_of_a_file_that_cannot_be_divided_the_beginning_is_read(inputs, monkeypatch, tmp_path):
    books = "\n".join(Path(file.path).read_text() for file in inputs)
    text = books * (6_000_000 // len(books) + 1)
    path = tmp_path / "one.txt.gz"
    path.write_bytes(gzip.compress(text.encode(), 1))
    monkeypatch.setattr(estimate, "BEGINNING_BYTES", 20_000)
    documents, sample_bytes = sample_of(find_inputs({"text": (str(path),)}))
    # What is decompressed comes in blocks of about a megabyte.
    assert 20_000 <= sample_bytes < 2_000_000
    assert 0 < sum(len(document.text) for document in documents) <= sample_bytes


def test_of_a_large_file_of_prose_its_pieces_are_read_where_they_are(inputs, monkeypatch, tmp_path):
    texts = [Path(file.path).read_text() for file in inputs]
    (tmp_path / "one.txt").write_text("\n\n".join(texts))
    pieces = sum(map(len, texts)) // 8
    monkeypatch.setattr(plain_text, "MAX_DOCUMENT_BYTES", pieces)
    files = find_inputs({"text": (str(tmp_path / "one.txt"),)})
    monkeypatch.setattr(estimate, "PLACE_BYTES", 1000)
    monkeypatch.setattr(estimate, "BEGINNING_BYTES", pieces // 4)
    documents, _ = sample_of(files)
    assert len({document.id for document in documents}) == len(documents) >= 6


ENGLISH = "He came home late and sat down by the fire, number {n}.\n\n"
RUSSIAN = "Он пришёл домой поздно и сел у огня, номер {n}.\n\n"


@pytest.mark.parametrize(
    ("prose", "packers"),
    [(ENGLISH, [gzip.compress]), (RUSSIAN, [bz2.compress, lzma.compress])],
    ids=["gz", "bz2 and xz"],
)
def test_a_packed_file_is_as_large_as_it_would_be_unpacked(tokenizer, tmp_path, prose, packers):
    def expected(data):
        (tmp_path / "text").write_bytes(data)
        given = {"text": (str(tmp_path / "text"),)}
        return estimate.estimate(find_inputs(given), CONFIG, tokenizer=tokenizer)

    text = "".join(prose.format(n=n * n) for n in range(4_000)).encode()
    plain = expected(text)
    for pack in packers:
        packed = expected(pack(text))
        assert packed.waiting_bytes == pytest.approx(plain.waiting_bytes, rel=0.05)
        # What is kept of it to find near-copies and held-out text waits too.
        assert len(text) < packed.waiting_bytes < 1.3 * len(text)
        assert packed.examples == pytest.approx(plain.examples, rel=0.05)


def test_plan_prints_and_makes_nothing(small, tmp_path):
    command = (
        *("make-data", "--text", small / "text", "--vocab", small / "vocab", "--plan"),
        *("--output", tmp_path / "d", "--max-seq-length", 32, "--dupe-factor", 1),
    )
    text, derived, plan, size, seconds, joined = run(*command).splitlines()
    assert text.startswith("text: 24 files, ")
    assert derived == "derived: --max-predictions-per-seq 5 --num-shards 8"
    assert plan == "plan: 1 chunk to read, 8 shards to train on and 1 held out, 1 copy"
    assert size.startswith("about ")
    assert "with 1 worker on this machine" in seconds
    assert re.fullmatch(r"text: \d+\.\d% of its lines were joined to paragraphs", joined)
    assert run(*command, "--quiet").splitlines()[::3] == [plan, joined]
    assert not (tmp_path / "d").exists()
