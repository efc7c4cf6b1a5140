"""`albert plan`: its figures, what it refuses, and that it needs no TensorFlow."""

import json
from unittest.mock import Mock

import pytest

from albert_tf.planning.cost import preset_name
from albert_tf.training import timing
from schemas.architecture import ModelConfig
from schemas.config import TrainConfig
from schemas.manifest import read_manifest
from schemas.readable import rounded
from tests.commands import run

BF16 = "bfloat16"
TABLE = """\
parameters                               11,813,810    109,705,010   10.8%
encoder and pooler                       11,683,584    109,081,344   10.7%
forward MFLOP/token                           189.3          190.6  99.30%
training MFLOP/token                          567.8          571.8  99.30%
  with --recompute                            756.5          760.5  99.47%
weights and optimizer                       180 MiB        1.6 GiB   10.8%
counting --pmi-embeddings                   424 MiB        790 MiB   53.6%
"""
RUN_AND_TIME = """\
whole run                             1.49e+20 FLOP  1.50e+20 FLOP  99.30%
  H100, bfloat16, 35% of 989 TFLOP/s       4 d 23 h        5 d 0 h  99.30%
  A100, bfloat16, 35% of 312 TFLOP/s      15 d 18 h      15 d 21 h  99.30%
"""
REMARKS = """
FLOP counts matrix products, a multiplication with its addition as two.
Training takes three forward passes; --recompute adds one of the layers.
base: 10.8% of the parameters of bert-base, 99.30%
of its computation. Layers that share weights are still computed one by
one; only narrower embeddings save operations.
"""


def plan(*arguments):
    return json.loads(run("plan", *arguments, "--json"))


def test_the_papers_run_of_base_beside_bert():
    said = run("plan", "--max-predictions-per-seq", 20)
    assert said.startswith(
        "125,000 steps of 4,096 sequences of 512 tokens, up to 20 of them predicted: "
        "262,144,000,000 tokens; float32.\n\n"
    )
    before, after = said.split("activations of a sequence")
    assert before.endswith(f"base      bert-base\n{TABLE}")
    activations, recomputed, rest = after.split("\n", 2)
    assert activations.endswith(" 100%")
    assert recomputed.startswith("  with --recompute ")
    assert rest == RUN_AND_TIME + REMARKS


def test_figures_as_json():
    figures = plan("--model", "large", "--steps", 10, "--batch-size", 8)
    assert figures["tokens"] == 10 * 8 * 512
    assert figures["max_predictions_per_seq"] == 77
    large, bert = figures["models"]["large"], figures["models"]["bert-large"]
    assert large["encoder_parameters"] == 17_683_968
    assert bert["encoder_parameters"] == 334_607_360
    assert large["architecture"]["embedding_size"] == 128
    assert large["parameters"] == 17_847_474
    assert large["activation_bytes"] == bert["activation_bytes"]
    assert large["training_flops"] == 80 * 512 * large["step_flops"]


def test_this_machine_is_measured_by_steps_of_the_model_asked_for(monkeypatch):
    timed = Mock(return_value=2.0)
    monkeypatch.setattr(timing, "step_seconds", timed)
    figures = plan("--measure", "--steps", 864, "--batch-size", 8, "--precision", BF16)
    timed.assert_called_once()
    config, _, train = timed.call_args.args
    assert (config.hidden_size, timed.call_args.kwargs) == (768, {"length": 512})
    assert train == TrainConfig(steps=864, batch_size=8, precision=BF16)
    ((machine, days),) = figures["days"].items()
    assert machine == "this machine, 4 sequences/s, 1.17 TFLOP/s"
    assert days["base"] == pytest.approx(0.02)


def test_a_bert_stands_alone_and_a_model_of_ones_own_beside_its_bert(tmp_path):
    said = run("plan", "--model", "bert-base")
    assert list(plan("--model", "bert-base")["models"]) == ["bert-base"]
    assert "%" not in said.split("whole run")[0]
    assert "narrower embeddings" not in said
    path = tmp_path / "model.json"
    path.write_text(json.dumps({"hidden_size": 128, "num_attention_heads": 2}))
    models = plan("--model", path, "--set", "vocab_size=100")["models"]
    assert list(models) == ["this model", "its BERT"]
    ours, theirs = (model["architecture"] for model in models.values())
    assert theirs == {**ours, "sharing": "none", "embedding_size": 128}
    assert ours["vocab_size"] == 100
    # A preset is known whatever its vocabulary.
    assert preset_name(ModelConfig(vocab_size=9, sentence_task="nsp")) == "base"


def test_a_data_set_gives_vocabulary_lengths_and_how_often_it_is_read(small):
    given = ("--data", small / "data", "--batch-size", 8, "--steps", 100)
    figures, manifest = plan(*given), read_manifest(small / "data")
    size = manifest.vocabulary["size"]
    assert figures["models"]["base"]["architecture"]["vocab_size"] == size
    assert figures["max_seq_length"] == 32
    examples = manifest.num_examples("train")
    assert figures["passes_over_data"] == 800 / examples
    mean = figures["mean_length"]
    assert mean == round(manifest.statistics["mean_length"]) < 32
    assert figures["tokens"] == 800 * mean
    said = run("plan", *given)
    assert said.startswith(
        f"100 steps of 8 sequences of at most 32 tokens, {mean} on average, up to 5 of "
        f"them predicted: {800 * mean:,} tokens, "
    )
    assert f", {rounded(800 / examples)} times the data set; float32.\n" in said
