"""Exports as the programs they are for compute with them, on real text."""

import dataclasses

import numpy as np
import pytest

from pipeline.vocabulary.tokenizer import load_tokenizer, read_spm_model
from tests.commands import run
from tests.exported_runs import SMALL_RUN, load_pretrainer, write_run
from tests.huggingface_albert import assert_equal_but_for_ties

pytestmark = [
    pytest.mark.slow,
    # KerasHub leaves the vocabulary open.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

LENGTH = 48
# Every way of sharing, E = H, blocks inside a layer, and no sentence task.
VARIANTS = [
    {},
    {"sharing": "attention"},
    {"sharing": "ffn", "num_hidden_groups": 1},
    {"sharing": "none", "inner_group_num": 2},
    {"embedding_size": 16},
    {"embedding_size": 16, "embedding_projection": "always"},
    {"sentence_task": "none"},
]


# The vocabulary is the same for all.
of_one = pytest.mark.parametrize("exported", VARIANTS[:1], indirect=True)


@pytest.fixture(scope="module", params=VARIANTS, ids=str)
def exported(request, small, tmp_path_factory):
    """A run and its export."""
    folder = tmp_path_factory.mktemp("exported") / "run"
    write_run(folder, dataclasses.replace(SMALL_RUN, **request.param), small)
    run("export", folder, "--to", "hf", "--quiet")
    return folder, folder.parent / "run-hf"


@pytest.fixture
def texts(sentences):
    """Lines of the language reference that are more than a title."""
    return [sentence for sentence in sentences if len(sentence) > 30]


def batch_of(tokenizer, texts):
    """Pairs of texts as arrays `[B, S]`, with every place to predict."""
    encoded = tokenizer(
        list(zip(texts[:16:2], texts[1:16:2], strict=True)),
        padding="max_length",
        truncation=True,
        max_length=LENGTH,
        return_tensors="np",
    )
    ids = encoded["input_ids"].astype("int32")
    return {
        "input_ids": ids,
        "input_mask": encoded["attention_mask"].astype("int32"),
        "segment_ids": encoded["token_type_ids"].astype("int32"),
        "masked_lm_positions": np.tile(np.arange(LENGTH, dtype="int32"), (len(ids), 1)),
    }


def largest_difference(ours, theirs, mask=None):
    difference = np.abs(np.array(ours) - np.array(theirs))
    return float((difference if mask is None else difference[mask.astype(bool)]).max())


def test_transformers_computes_the_same_logits(exported, texts):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    folder, export = exported
    tokenizer = transformers.AutoTokenizer.from_pretrained(export)
    batch = batch_of(tokenizer, texts)
    mask = batch["input_mask"]
    mlm, sentence = load_pretrainer(folder)(batch)
    inputs = {
        "input_ids": torch.tensor(batch["input_ids"]).long(),
        "attention_mask": torch.tensor(mask).long(),
        "token_type_ids": torch.tensor(batch["segment_ids"]).long(),
    }
    outputs = {
        name: getattr(transformers, name).from_pretrained(export).eval()(**inputs)
        for name in ("AlbertForPreTraining", "AlbertForMaskedLM", "AlbertModel")
    }
    for predictions in (
        outputs["AlbertForPreTraining"].prediction_logits,
        outputs["AlbertForMaskedLM"].logits,
    ):
        logits = predictions.detach().numpy()
        mlm = np.reshape(mlm, logits.shape)
        assert np.abs(mlm).max() > 1
        assert largest_difference(mlm, logits, mask) < 1e-4
    sop = outputs["AlbertForPreTraining"].sop_logits.detach().numpy()
    expected = np.zeros_like(sop) if sentence is None else sentence
    assert largest_difference(expected, sop) < 1e-4
    assert outputs["AlbertModel"].last_hidden_state.shape == (8, LENGTH, 16)


@of_one
def test_transformers_makes_the_same_pieces(exported, texts):
    transformers = pytest.importorskip("transformers")
    folder, export = exported
    ours = load_tokenizer(read_spm_model(folder))
    assert len(texts) > 1000
    for tokenizer_class in ("AutoTokenizer", "AlbertTokenizer"):
        tokenizer = getattr(transformers, tokenizer_class).from_pretrained(export)
        theirs = tokenizer(texts, add_special_tokens=False)["input_ids"]
        # With 400 pieces, rows of one character divide in many ways.
        assert_equal_but_for_ties(theirs, ours.encode(texts), ours, share=0.01)


def test_kerashub_computes_the_same_outputs(exported, texts):
    keras_hub = pytest.importorskip("keras_hub")
    folder, export = exported
    ids = [ids[:LENGTH] for ids in load_tokenizer(read_spm_model(folder)).encode(texts[:8])]
    lengths = np.array([len(row) for row in ids])
    assert len(set(lengths)) > 1
    mask = (np.arange(LENGTH) < lengths[:, None]).astype("int32")
    padded = np.zeros_like(mask)
    padded[mask.astype(bool)] = np.concatenate(ids)
    segments = (np.arange(LENGTH) >= lengths[:, None] // 2).astype("int32") * mask
    encoder = load_pretrainer(folder).encoder
    rows = encoder(padded, mask, segments)
    theirs = keras_hub.models.AlbertBackbone.from_preset(str(export))(
        {"token_ids": padded, "segment_ids": segments, "padding_mask": mask}
    )
    sequence = np.reshape(rows, (8, LENGTH, -1))
    assert largest_difference(sequence, theirs["sequence_output"], mask) < 1e-4
    pooled = theirs["pooled_output"]
    has_pooler = encoder.pooler is not None
    expected = encoder.pool(rows, LENGTH) if has_pooler else np.zeros_like(pooled)
    assert largest_difference(expected, pooled) < 1e-4


@of_one
def test_kerashub_makes_the_same_pieces(exported, texts):
    keras_hub = pytest.importorskip("keras_hub")
    folder, export = exported
    tokenizer = keras_hub.models.AlbertTokenizer.from_preset(str(export))
    ours = load_tokenizer(read_spm_model(folder))
    theirs = [np.asarray(row).tolist() for row in tokenizer(texts)]
    assert theirs == ours.encode(texts)
