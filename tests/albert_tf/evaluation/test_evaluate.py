"""Measuring a run on any data set."""

import dataclasses
import itertools
import json
import math
import shutil

import numpy as np
import pytest

from albert_tf.evaluation import counting as counting_module
from albert_tf.evaluation.bits_per_character import SHARE
from albert_tf.evaluation.counting import loss_of_counting
from albert_tf.evaluation.evaluate import Scope
from albert_tf.evaluation.evaluate import evaluate as evaluate_model
from albert_tf.evaluation.minimal_pairs import MinimalPair
from albert_tf.model.pretrainer import AlbertPretrainer
from albert_tf.model.trained_model import read_trained
from albert_tf.runs.checkpoints import Checkpoint, arrays_of, save_checkpoint
from albert_tf.runs.metrics import interval
from albert_tf.training.pretraining import pretrain
from pipeline.records.reading import read_unmasked
from schemas.config import TrainConfig
from schemas.example import SPECIAL_TOKENS
from schemas.layout import DATA_MANIFEST, MANIFEST, MODEL_CONFIG, SPM_MODEL
from schemas.manifest import read_manifest
from tests.albert_tf.evaluation.words_vocabulary import WORDS, encode
from tests.refusals import refusal
from tests.runs import evaluations, take_light_steps
from tests.training_data import TINY, VOCAB_SIZE, resolved_run, write_dataset

CONFIG = TrainConfig(
    batch_size=4, micro_batch_size=4, steps=2, eval_every=2, eval_examples=250, learning_rate=0.01
)


def evaluate(folder, **arguments):
    return evaluate_model(read_trained(folder), **arguments)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    root = tmp_path_factory.mktemp("data")
    write_dataset(root, eval_examples=250)
    return root


@pytest.fixture(scope="module")
def run(data, tmp_path_factory):
    root = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        take_light_steps(patch)
        pretrain(resolved_run(data, root, CONFIG))
    return root


@pytest.fixture(scope="module")
def result(run, data):
    return evaluate(run, data=data, scope=Scope(vocabulary=WORDS))


def test_a_run_measures_as_its_last_evaluation_said(run, result):
    lines = [json.loads(x) for x in (run / "metrics.jsonl").read_text().splitlines()]
    # Before the first step fewer are enough.
    of_evaluations = [line for line in lines if line["split"] == "eval"]
    assert [line["examples"] for line in of_evaluations] == [200, 250]
    last = lines[-1]
    for name in ("mlm_loss", "mlm_accuracy", "sentence_loss", "sentence_accuracy"):
        assert result[name] == pytest.approx(last[name], rel=1e-6)
    assert result["mlm_perplexity"] == pytest.approx(math.exp(last["mlm_loss"]))
    assert (result["step"], result["examples"], result["sentence_count"]) == (2, 250, 250)
    assert 250 <= result["mlm_count"] <= 4 * 250
    # Of the sentence task, the examples are what is drawn.
    assert 0 < result["sentence_loss_error"] < 0.1
    assert 0 < result["mlm_loss_error"] < 0.2


def test_a_run_learns_and_is_measured_in_the_precision_of_its_own_evaluations(data, tmp_path):
    """With no sentence task on data that have one, and the other optimizer, as any run may be."""
    sizes = {"batch_size": 8, "micro_batch_size": 8, "steps": 60, "eval_every": 60}
    adamw = {"precision": "bfloat16", "optimizer": "adamw", "learning_rate": 0.03}
    config = dataclasses.replace(CONFIG, **sizes, **adamw)
    model = dataclasses.replace(TINY, sentence_task="none")
    pretrain(resolved_run(data, tmp_path, config, model_config=model))
    (tmp_path / "config.json").write_text('{"precision": "bfloat16"}')
    first, last = evaluations(tmp_path)
    assert first["mlm_loss"] == pytest.approx(np.log(VOCAB_SIZE), abs=0.1)
    assert last["mlm_loss"] < first["mlm_loss"] - 0.5
    own, exact = (evaluate(tmp_path, data=data, precision=each) for each in (None, "float32"))
    assert own["mlm_loss"] == last["mlm_loss"] != exact["mlm_loss"]
    assert last["sentence_accuracy"] is own["sentence_loss"] is None
    assert own["sentence_count"] == 0


def test_padded_and_compact_data_measure_the_same_also_of_another_sentence_task(run, tmp_path):
    results = []
    for layout in ("compact", "padded"):
        write_dataset(tmp_path / layout, layout=layout, sentence_task="nsp")
        scope = Scope(vocabulary=WORDS)
        results.append(evaluate(run, data=tmp_path / layout, scope=scope))
        for name in ("text", "data_fingerprint"):
            results[-1].pop(name)
    assert results[0] == results[1]
    assert results[0]["sentence_count"] == 7
    assert "minimal_pairs" not in results[0]


@pytest.fixture(scope="module")
def blank(data, tmp_path_factory):
    """A run whose model finds all tokens equally likely: all its weights are zero."""
    root = tmp_path_factory.mktemp("blank")
    (root / MODEL_CONFIG).write_text(json.dumps(dataclasses.asdict(TINY)))
    shutil.copy(data / SPM_MODEL, root)
    shutil.copy(data / MANIFEST, root / DATA_MANIFEST)
    weights = arrays_of(AlbertPretrainer(TINY).weights_by_path)
    save_checkpoint(root, Checkpoint(weights, {}, {"step": 0}), is_best=True)
    return root


@pytest.fixture(scope="module")
def of_blank(blank, data):
    return evaluate(blank, data=data, scope=Scope(vocabulary=WORDS))


def rows_of(data, split):
    """The tokens of all examples of the first copy, before masking."""
    texts = read_unmasked(data, read_manifest(data), split=split)
    return [row for text in texts for row in text.rows]


def test_a_model_that_knows_nothing_needs_all_bits_of_a_token(of_blank, data):
    bits = of_blank["bits_per_character"]
    # A token of 64 takes six bits, and is a word of two letters.
    assert bits["model"] == pytest.approx({"value": 3.0, "low": 3.0, "high": 3.0})
    more = bits["model_minus_neighbours"]["value"]
    assert more == pytest.approx(3.0 - bits["neighbours"]["value"])
    words = sum(len(row) - 3 for row in rows_of(data, "eval"))
    assert bits["characters"] == 2 * bits["words"]
    assert bits["words"] == pytest.approx(SHARE * words, rel=0.5)


def test_counting_is_measured_on_the_same_masked_tokens(of_blank, data):
    training = rows_of(data, "train")
    seen = np.bincount(np.concatenate(training), minlength=VOCAB_SIZE) + 0.5
    seen[: len(SPECIAL_TOKENS)] = 0
    rows = [
        text.ids[start:end][text.is_masked[start:end]]
        for text in read_unmasked(data, read_manifest(data), split="eval")
        for start, end in itertools.pairwise(text.offsets)
    ]
    labels = np.concatenate(rows)
    assert len(labels) == of_blank["mlm_count"]
    counting = of_blank["counting"]
    assert (counting["examples"], counting["tokens"]) == (len(training), sum(map(len, training)))
    losses = -np.log(seen[labels] / seen.sum())
    # Tokens of one row are alike, so that the interval is over the draw of the rows.
    beside = [sum(-np.log(seen[row] / seen.sum()) - losses.mean()) for row in rows]
    deviation = np.std(beside, ddof=1) * len(rows) ** 0.5 / len(labels)
    assert counting["unigram"] == pytest.approx(
        {
            "mlm_loss": losses.mean(),
            "mlm_accuracy": (labels == seen.argmax()).mean(),
            "mlm_loss_error": 1.96 * deviation,
        }
    )
    # Tokens count up, so that a neighbour tells much.
    assert counting["neighbours"]["mlm_loss"] < counting["unigram"]["mlm_loss"]


def test_words_are_of_the_first_examples_and_much_text_is_counted_in_part(blank, data, monkeypatch):
    monkeypatch.setattr(counting_module, "COUNTED_TOKENS", 150)
    result = evaluate(blank, data=data, scope=Scope(examples=5, vocabulary=WORDS))
    assert (result["examples"], result["sentence_count"]) == (5, 5)
    words = sum(len(row) - 3 for row in rows_of(data, "eval")[:5])
    assert 0 < result["bits_per_character"]["words"] < 0.5 * words
    sizes = np.cumsum([len(row) for row in rows_of(data, "train")])
    # Whole files of ten examples each are read at a time.
    examples = 10 * (1 + int(np.argmax(sizes[9::10] >= 150)))
    assert result["counting"]["examples"] == examples
    assert result["counting"]["tokens"] == sizes[examples - 1] < sizes[-1]


def test_pairs_are_scored_by_paradigm_and_in_all_and_without_words_nothing_is_counted(run, data):
    likely, unlikely = "bb bc bd be bf bg", "bb bg bd bc be bf"
    pairs = [
        MinimalPair("order", likely, unlikely),
        MinimalPair("order", unlikely, likely),
        MinimalPair("equal", likely, likely),
    ]
    sentences = encode([s for pair in pairs for s in (pair.good, pair.bad)])
    scope = Scope(words=0, pairs=pairs, sentences=sentences, vocabulary=WORDS)
    whole = evaluate(run, data=data, scope=scope)
    assert {"counting", "bits_per_character"}.isdisjoint(whole)
    result = whole["minimal_pairs"]
    paradigms = [(p["paradigm"], p["right"], p["pairs"]) for p in result["paradigms"]]
    assert paradigms == [("order", 1, 2), ("equal", 0, 1)]
    low, high = interval(1 / 3, 3)
    found = [result[name] for name in ("right", "accuracy", "low", "high")]
    assert found == [1, 1 / 3, low, high]


def test_what_counting_gives_is_known_without_a_model_but_not_without_text(result, data, tmp_path):
    expected = result["counting"]["neighbours"]["mlm_loss"]
    assert loss_of_counting(data, read_manifest(data)) == pytest.approx(expected)
    manifest = write_dataset(tmp_path / "data", eval_examples=0)
    assert loss_of_counting(tmp_path / "data", manifest) is None


@pytest.mark.parametrize("split", ["train", "eval"])
def test_counting_ends_at_a_corrupt_record(data, tmp_path, split):
    folder = tmp_path / "data"
    shutil.copytree(data, folder)
    path = next((folder / split / "copy-00").iterdir())
    content = bytearray(path.read_bytes())
    content[30] ^= 1
    path.write_bytes(content)
    manifest = read_manifest(folder)
    assert str(path) in refusal(loss_of_counting, folder, manifest)
