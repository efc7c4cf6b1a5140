"""Vectors of an export in sentence-transformers and onnxruntime are those of `albert embed`."""

import json

import numpy as np
import pytest

import albert_tf
from tests.commands import run

# No special piece is among them: tokenizers of Hugging Face take one that is typed for itself.
ODD = (
    *("", " ", "a", "A", "...", "\t tab \t", "line\nbreak", "MiXeD", "naïve ÉCOLE", "ﬁ"),
    *("e\u0301 combining", "北京", "日本語のテキスト", "한국어", "Привет", "שלום", "مرحبا", "नमस्ते"),
    *("ไทย", "🦊👩\u200d👧", "a\u200db", "a\u00a0b", "a\u2028b", "\ufeffbom", "x" * 300),
    *("word " * 400, "▁under_", "1,000.5", "$5 50%", "http://a.b/c?d=e", "“don't” —", "½①ｆｕｌｌ"),
)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["run", "tuned"])
def test_odd_texts_have_the_same_vectors_everywhere(models, tmp_path, name):
    sentence_transformers = pytest.importorskip("sentence_transformers")
    onnxruntime = pytest.importorskip("onnxruntime")
    out = tmp_path / "out"
    run("export", models / name, "--to", "sentence-transformers", "--output", out)
    expected = albert_tf.load(models / name).encode(ODD)
    theirs = sentence_transformers.SentenceTransformer(str(out), device="cpu")
    np.testing.assert_allclose(theirs.encode(list(ODD)), expected, atol=1e-5)
    session = onnxruntime.InferenceSession(out / "onnx" / "model.onnx")
    length = json.loads((out / "sentence_bert_config.json").read_text())["max_seq_length"]
    tokens = theirs.tokenizer(
        list(ODD), padding=True, truncation=True, max_length=length, return_tensors="np"
    )
    inputs = {each.name: tokens[each.name].astype("int64") for each in session.get_inputs()}
    (found,) = session.run(["sentence_embedding"], inputs)
    np.testing.assert_allclose(found, expected, atol=1e-5)
