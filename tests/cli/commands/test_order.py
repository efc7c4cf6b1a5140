"""`albert order`: two passages, which comes first."""

import json

import pytest

from albert_tf.model.trained_model import in_order_probability
from pipeline.encoding.queries import pair_passages
from pipeline.vocabulary.tokenizer import load_tokenizer, read_spm_model
from schemas.readable import percent
from tests.commands import run


def test_the_head_is_asked_about_the_pair_in_the_order_given(trained):
    folder, model = trained
    tokenizer = load_tokenizer(read_spm_model(folder))
    pair = pair_passages("a name", "the end", tokenizer, max_seq_length=32)
    probability = in_order_probability(model, pair.input_ids)
    assert json.loads(run("order", folder, "a name", "the end", "--json")) == {
        "in_order": probability >= 0.5,
        "probability_in_order": pytest.approx(probability, rel=1e-9),
        "pieces": list(pair.tokens),
        "pieces_read": list(pair.tokens),
    }
    # A person reads one sentence.
    name = "FIRST" if probability >= 0.5 else "SECOND"
    assert run("order", folder, "a name", "the end") == (
        f"{name} comes first: {percent(max(probability, 1 - probability))} sure.\n"
    )


def test_what_of_long_passages_is_read_is_said(encoder):
    asked = ("order", encoder, ". " * 30, ". " * 40)
    assert run(*asked).startswith(
        "The passages are longer than the 32 tokens that the model reads: the last 14 "
        "of FIRST's 60 and the first 15 of SECOND's 80 are compared.\n"
    )
    assert "longer" not in run(*asked, "--quiet")
