"""Exports of fine-tuned models in transformers' own pipelines, on real text."""

import dataclasses
import json

import numpy as np
import pytest

from tests.commands import run
from tests.exported_runs import SMALL_RUN, TUNED_LABELS, TUNED_LENGTH, write_tuned

pytestmark = pytest.mark.slow

NUMBER = 200

# Of 2,000 pieces: with fewer of them texts can often be divided in several ways.
CONFIG = dataclasses.replace(SMALL_RUN, vocab_size=2000)


@pytest.fixture
def texts(sentences):
    """Lines of the language reference that are more than a title.

    Those of one character are left out: they divide in several ways of equal score.
    """
    lines = [s.replace("\t", " ") for s in sentences if len(s) > 30]
    return [line for line in lines if "****" not in line]


def ours_of(folder, lines, tmp_path):
    path = tmp_path / "lines.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    said = run("predict", folder, "--input", path, "--json", "--quiet")
    return [json.loads(line) for line in said.splitlines()]


@pytest.mark.parametrize("is_pair", [False, True])
@pytest.mark.parametrize("kind", ["classify", "multilabel"])
def test_the_pipeline_of_texts_says_the_same(kind, is_pair, texts, model, tmp_path):
    transformers = pytest.importorskip("transformers")
    write_tuned(tmp_path / "tuned", kind, model, config=CONFIG)
    run("export", tmp_path / "tuned", "--to", "hf", "--output", tmp_path / "hf")
    pipeline = transformers.pipeline("text-classification", str(tmp_path / "hf"))
    firsts = texts[:NUMBER]
    lines = [{"text": text} for text in firsts]
    if is_pair:
        # Pairs that are cut have one token more of one text there, and of the other
        # here, where the number of tokens to keep is odd.
        short = [text[:16] for text in texts]
        pairs = zip(short[:NUMBER], short[NUMBER : 2 * NUMBER], strict=True)
        lines = [{"sentence1": a, "sentence2": b} for a, b in pairs]
        given = [{"text": a["sentence1"], "text_pair": a["sentence2"]} for a in lines]
    else:
        given = firsts
    theirs = pipeline(given, top_k=None, truncation=True, max_length=TUNED_LENGTH, padding=True)
    ours = ours_of(tmp_path / "tuned", lines, tmp_path)
    assert len(theirs) == len(ours) == NUMBER
    for said, expected in zip(ours, theirs, strict=True):
        scores = {row["label"]: row["score"] for row in expected}
        values = [said["probabilities"][name] for name in TUNED_LABELS]
        wanted = [scores[name] for name in TUNED_LABELS]
        np.testing.assert_allclose(values, wanted, atol=1e-4)


def test_the_pipeline_of_tokens_says_the_same(texts, model, tmp_path):
    transformers = pytest.importorskip("transformers")
    write_tuned(tmp_path / "tuned", "tag", model, config=CONFIG)
    run("export", tmp_path / "tuned", "--to", "hf", "--output", tmp_path / "hf")
    pipeline = transformers.pipeline("token-classification", str(tmp_path / "hf"))
    # Words alone: a token classifier of transformers knows tokens, ours words.
    words = [text.split()[:12] for text in texts]
    plain = [" ".join(w for w in row if w.isalpha() and w.islower()) for row in words]
    plain = [text for text in plain if text][:NUMBER]
    assert len(plain) == NUMBER
    path = tmp_path / "lines.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in plain))
    said = run("predict", tmp_path / "tuned", "--input", path, "--json", "--quiet")
    for text, line in zip(plain, said.splitlines(), strict=True):
        tokens = pipeline(text, ignore_labels=[])
        firsts = [t for t in tokens if t["word"].startswith("▁")]
        ours = json.loads(line)
        assert ours["tags"] == [token["entity"] for token in firsts]
        scores = [float(token["score"]) for token in firsts]
        assert ours["probabilities"] == pytest.approx(scores, abs=1e-4)
