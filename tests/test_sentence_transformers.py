"""Vectors of an export in sentence-transformers and onnxruntime are those of `albert embed`."""

import json

import numpy as np
import pytest

import albert_tf
from tests.commands import run

ODD = (
    *("", " ", "a", "A", "...", "\t tab \t", "line\nbreak", "one\r\ntwo\rthree\n\n", "\n", "0"),
    # Letters: of two cases, of two codes, of one code that is two letters, without a case.
    *("MiXeD", "naïve ÉCOLE", "ﬁ ﬂ ﬃ", "ǅ ĳ ŉ", "e\u0301 combining", "a\u0301\u0302\u0303\u0323"),
    *("ŐŰ İi Iı ẞß ſ", "½ ① ㎏ Ⅷ ™ ｆｕｌｌ Ａ１", "ｶﾞ ﾊﾟ", "각 \u1100\u1161\u11a8"),
    *("क\u094dष", "x²"),
    # Scripts with and without spaces, and from right to left.
    *("北京", "日本語のテキスト。", "한국어 문장", "Привет, мир", "שָׁלוֹם עולם"),
    *("مرحبا بالعالم", "नमस्ते"),
    *("ไทยไม่มีช่องว่าง", "ភាសាខ្មែរ", "မြန်မာ", "𐌰𐌱𐌲", "𠀀", "a\u202eb\u202c", "Ａﾞ"),
    # What is seen as one character, or as none.
    *("🦊👩\u200d👧", "👍🏽 🇪🇺 ❤\ufe0f", "a\u200db", "a\u00adb", "a\u200bb", "\ufeffbom"),
    *("a\u2060b", "a\u00a0b", "a\u2028b\u2029c", "a\u3000b", "a\x00b", "a\x07\x1b[0mb"),
    *("\x85", "\ufffd \uffff"),
    *("\ue000", "\U0010ffff", "☃", "x" * 300, "word " * 400, "é" * 5000, "-" * 64, " a  b   c "),
    *("▁under_", "▁ ▁", "1,000.5", "$5 50% -3e10", "http://a.b/c?d=e&f=%20#g", "me@x.org"),
    *("“don't” —", "`` quoted ''", "#tag @name", "<b>bold</b> &amp;", "C:\\temp\\new", "a/b\\c|d"),
    # Special tokens are text where somebody has typed them.
    *("[CLS] it [SEP]", "a <pad> b", "<unk>", "[MASK]", "the [MASK].", "<s></s><mask>", "[cls]"),
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
