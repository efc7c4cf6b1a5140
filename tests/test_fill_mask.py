"""`albert fill-mask`, from text to text."""

import io
import json
import sys

import numpy as np
import pytest

from albert_tf.predictions import mask_probabilities
from pipeline.masked_text import encode_masked
from pipeline.tokenizer import load_tokenizer, read_model
from tests.commands import attempt, run
from tests.trained_run import write_run


@pytest.fixture(scope="module")
def trained(small, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fill") / "run"
    return folder, write_run(folder, data=small / "data")


def stdin(monkeypatch, content: bytes):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_each_mask_gets_the_pieces_that_the_model_gives_it(trained):
    folder, model = trained
    text = "The [MASK] of a [MASK]."
    answer = json.loads(run("fill-mask", folder, text, "--top", 2, "--json"))
    tokenizer = load_tokenizer(read_model(folder))
    probabilities = mask_probabilities(model, encode_masked(text, tokenizer))
    best = [np.argsort(-row)[:2].tolist() for row in probabilities]
    assert answer == {
        "text": text,
        "filled": tokenizer.decode(
            [
                *tokenizer.encode(["The"])[0],
                best[0][0],
                *tokenizer.encode(["of a"])[0],
                best[1][0],
                *tokenizer.encode_after("."),
            ]
        ),
        "masks": [
            [
                {
                    "piece": tokenizer.piece(i),
                    "id": i,
                    "probability": pytest.approx(row[i], rel=1e-9),
                }
                for i in ids
            ]
            for ids, row in zip(best, probabilities, strict=True)
        ],
    }


def test_a_person_sees_text_pieces_and_what_comes_out(trained):
    folder, _ = trained
    answer = json.loads(run("fill-mask", folder, "A [MASK].", "--json", "--top", 1))
    (piece,) = answer["masks"][0]
    share = 100 * piece["probability"]
    assert run("fill-mask", folder, "A [MASK].", "--top", 1) == (
        f"A [MASK].\n  {piece['piece']} {share:.1f} %\n  {answer['filled']}\n"
    )


def test_texts_come_from_standard_input_too_and_blank_lines_are_none(
    trained, monkeypatch
):
    folder, _ = trained
    stdin(monkeypatch, "A [MASK].\r\n\n  \nÉ [MASK]".encode())
    lines = run("fill-mask", folder, "--json").splitlines()
    assert [json.loads(line)["text"] for line in lines] == ["A [MASK].", "É [MASK]"]


def test_a_text_that_is_too_long_is_refused_with_its_length(trained):
    folder, _ = trained
    text = "[MASK]" + " ." * 20
    code, said = attempt("fill-mask", folder, text)
    assert (code, said) == (
        1,
        f'Error: "{text}" has 43 pieces with [CLS] and [SEP] and the '
        "model reads 32; give less text.\n",
    )


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "Give a text with [MASK] in it, or send texts on standard input"),
        (b"A [MASK].\n\xff\xfe [MASK]", "Text 2 is not UTF-8; convert it first."),
    ],
)
def test_standard_input_without_text_is_refused(
    trained, monkeypatch, content, sentence
):
    stdin(monkeypatch, content)
    code, said = attempt("fill-mask", trained[0])
    assert code == 2
    assert said.startswith(f"Error: {sentence}")


def test_a_text_without_mask_is_refused_before_any_is_answered(trained):
    code, said = attempt("fill-mask", trained[0], "A [MASK].", "nothing here")
    assert (code, said) == (
        1,
        'Error: "nothing here" has no [MASK]; write [MASK] where a piece is to be '
        "found.\n",
    )
