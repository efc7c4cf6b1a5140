"""`albert fill-mask`, from text to text."""

import json

import numpy as np
import pytest

from albert_tf.model.trained_model import mask_probabilities
from pipeline.encoding.queries import encode_masked
from pipeline.vocabulary.tokenizer import load_tokenizer, read_spm_model
from schemas.example import CLS_ID, MASK_ID, SEP_ID
from schemas.readable import percent
from tests.commands import dialogue, refused, run


def test_each_mask_gets_the_pieces_that_the_model_gives_it(trained):
    folder, model = trained
    text = "The [MASK] of a [MASK]."
    answer = json.loads(run("fill-mask", folder, text, "--top", 2, "--json"))
    tokenizer = load_tokenizer(read_spm_model(folder))
    probabilities = mask_probabilities(model, encode_masked(text, tokenizer))
    best = [np.argsort(-row)[:2].tolist() for row in probabilities]
    the, of_a = tokenizer.encode(["The", "of a"])
    filled = [*the, best[0][0], *of_a, best[1][0], *tokenizer.encode_after(".")]
    assert answer == {
        "text": text,
        "filled": tokenizer.decode(filled),
        "masks": [
            [
                {"piece": tokenizer.piece(i), "id": i, "probability": pytest.approx(row[i], 1e-9)}
                for i in ids
            ]
            for ids, row in zip(best, probabilities, strict=True)
        ],
    }


def test_a_person_sees_text_pieces_and_what_comes_out(encoder):
    answer = json.loads(run("fill-mask", encoder, "A [MASK].", "--json", "--top", 1))
    (piece,) = answer["masks"][0]
    share = percent(piece["probability"])
    assert run("fill-mask", encoder, "A [MASK].", "--top", 1) == (
        f"A [MASK].\n  {piece['piece']} {share}\n  {answer['filled']}\n"
    )


def test_each_line_is_answered_before_the_next_is_sent(encoder):
    texts = ["A [MASK].", "The [MASK]"]
    answers = dialogue(texts, "fill-mask", encoder, "--json")
    assert [json.loads(answer)["text"] for answer in answers] == texts


def test_a_line_that_cannot_be_answered_is_named_and_the_next_ones_are(encoder, send):
    """Of standard input, where blank lines are no texts."""
    lines = ["A [MASK].\r", "  ", "nothing here", "\udcff [MASK]", "[MASK]" + " ." * 20, ""]
    send("\n".join([*lines, "É [MASK]"]).encode("utf-8", "surrogateescape"))
    said = refused("fill-mask", encoder, "--json", code=1)
    answers = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    assert [answer["text"] for answer in answers] == ["A [MASK].", "É [MASK]"]
    assert [line for line in said.splitlines() if not line.startswith("{")] == [
        'Line 3: "nothing here" has no [MASK]; write [MASK] where a token is to be found.',
        "Line 4: the text is not UTF-8; convert it first.",
        f'Line 5: "{lines[4]}" has 43 tokens with [CLS] and [SEP] and the model reads '
        "32; give less text.",
    ]


def test_the_surprisal_of_a_word_is_that_of_its_pieces_while_its_rest_is_masked(trained, tmp_path):
    folder, model = trained
    tokenizer = load_tokenizer(read_spm_model(folder))
    (tmp_path / "texts").write_text("The xylophone\n\nA value.\n", "utf-8")
    first, *lines = run("fill-mask", folder, "--score", tmp_path / "texts").splitlines()
    rows = [line.split("\t") for line in lines]
    assert first == "line\tword\tsurprisal"
    scored = [row[:2] for row in rows]
    assert scored == [["1", "The"], ["1", "xylophone"], ["3", "A"], ["3", "value"], ["3", "."]]
    the, *pieces = tokenizer.encode(["The xylophone"])[0]
    bits = 0.0
    for number, piece in enumerate(pieces):
        masked = [CLS_ID, the, *pieces[:number], *[MASK_ID] * (len(pieces) - number), SEP_ID]
        bits -= np.log2(mask_probabilities(model, masked)[0][piece])
    assert float(rows[1][2]) == pytest.approx(bits, abs=1e-3)
    answers = run("fill-mask", folder, "--score", tmp_path / "texts", "--json").splitlines()
    words = [list(answer.values()) for answer in map(json.loads, answers)]
    assert [[str(line), word, f"{bits:.4f}"] for line, word, bits in words] == rows


def test_a_word_of_a_long_text_is_scored_with_text_on_either_side(trained, tmp_path):
    # The model reads 32 tokens: 30 of the text, in windows that begin at 0, 15, 30, ...
    folder, model = trained
    ids = load_tokenizer(read_spm_model(folder)).encode(["the a " * 40])[0]
    assert len(ids) == 80
    (tmp_path / "text").write_text("the a " * 40, "utf-8")
    _, *lines = run("fill-mask", folder, "--score", tmp_path / "text").splitlines()
    assert [line.split("\t")[1] for line in lines] == ["the", "a"] * 40
    for place, begin in ((0, 0), (21, 0), (22, 15), (37, 30), (79, 50)):
        window = ids[begin : begin + 30]
        window[place - begin] = MASK_ID
        bits = -np.log2(mask_probabilities(model, [CLS_ID, *window, SEP_ID])[0][ids[place]])
        assert float(lines[place].split("\t")[2]) == pytest.approx(bits, abs=1e-3)
