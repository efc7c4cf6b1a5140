import dataclasses

import pytest

from schemas.architecture import ModelConfig
from schemas.config import DataConfig, TrainConfig, VocabConfig, config_from_dict
from schemas.errors import SettingError
from schemas.finetune_config import TASK_RECIPES, FineTuneConfig
from tests.refusals import refusal

COOLDOWN = {"schedule": "constant-cooldown"}
CONFIGS = [VocabConfig, DataConfig, TrainConfig, ModelConfig]


OUT_OF_BOUNDS = {
    DataConfig: [
        ({"max_seq_length": 7}, "--max-seq-length must be at least 8, not 7."),
        ({"masked_lm_prob": float("nan")}, "--masked-lm-prob must be at least 0.0, not nan."),
        ({"sentence_task": "order"}, "--sentence-task must be one of sop, nsp, none, not 'order'."),
        (
            {"max_seq_length": 128, "max_predictions_per_seq": 126},
            "--max-predictions-per-seq must be at most --max-seq-length - 3 = 125, not 126.",
        ),
    ],
    TrainConfig: [
        ({"beta2": 1.0}, "--beta2 must be at most 0.999999, not 1.0."),
        (
            {"batch_size": 10, "micro_batch_size": 12},
            "--micro-batch-size must be at most --batch-size 10, not 12.",
        ),
        ({"steps": 10, "warmup_steps": 11}, "--warmup-steps must be at most --steps 10, not 11."),
        (
            {"steps": 900, "constant_steps": 100, "warmup_steps": 200} | COOLDOWN,
            "--warmup-steps 200 is more than --constant-steps 100, after which the rate falls; "
            "give fewer.",
        ),
        (
            {"steps": 10, "warmup_steps": 9} | COOLDOWN,
            "--warmup-steps must be at most the 8 steps before the cooldown, not 9.",
        ),
    ],
    ModelConfig: [
        (
            {"hidden_size": 100, "num_attention_heads": 12},
            "num_attention_heads must divide hidden_size 100, and 12 does not.",
        ),
        (
            {"num_hidden_layers": 2, "num_hidden_groups": 3},
            "num_hidden_groups must be at most num_hidden_layers 2, not 3.",
        ),
        (
            {"num_hidden_layers": 1, "layer_consistency_weight": 0.1},
            "layer_consistency_weight compares neighbouring layers and there is only one; leave it "
            "0, or give num_hidden_layers of 2 or more.",
        ),
    ],
}


@pytest.mark.parametrize(
    ("config_class", "values", "message"),
    [(config_class, *row) for config_class, rows in OUT_OF_BOUNDS.items() for row in rows],
)
def test_a_value_out_of_bounds_is_one_sentence(config_class, values, message):
    assert refusal(config_class, **values, error=SettingError) == message


@pytest.mark.parametrize(
    "values",
    [
        *({"max_seq_length": 8}, {"max_seq_length": 4096}),
        *({"masked_lm_prob": 0.0}, {"masked_lm_prob": 0.9}),
        {"max_seq_length": 128, "max_predictions_per_seq": 125},
    ],
)
def test_the_bounds_themselves_are_allowed(values):
    assert dataclasses.asdict(DataConfig(**values)).items() >= values.items()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"max_seq_len": 128},
            "'max_seq_len' is not a setting; the settings are max_seq_length, "
            "max_predictions_per_seq, masked_lm_prob, kept_share, masked_words, max_ngram, "
            "short_seq_prob, examples, dupe_factor, sentence_task, eval_fraction, "
            "near_duplicates, max_line_repeats, keep_languages, repair_text, num_shards, "
            "record_layout, seed.",
        ),
        ({"max_seq_length": "128"}, "max_seq_length must be of type int, not '128'."),
        ({"max_seq_length": True}, "max_seq_length must be of type int, not True."),
        ({"max_seq_length": None}, "max_seq_length must be of type int, not None."),
        ({"sentence_task": 1}, "sentence_task must be of type str, not 1."),
        ({"masked_lm_prob": "0.15"}, "masked_lm_prob must be of type float, not '0.15'."),
    ],
)
def test_a_json_value_of_the_wrong_kind_is_one_sentence(values, message):
    assert refusal(config_from_dict, DataConfig, values, error=SettingError) == message


@pytest.mark.parametrize("config_class", CONFIGS)
def test_a_config_survives_json(config_class):
    config = config_class()
    assert config_from_dict(config_class, dataclasses.asdict(config)) == config
    # A number without a point is a float.
    assert config_from_dict(DataConfig, {"masked_lm_prob": 0}).masked_lm_prob == 0


@pytest.mark.parametrize("config_class", CONFIGS)
def test_every_setting_has_a_help_text(config_class):
    assert all(field.metadata["help"] for field in dataclasses.fields(config_class))


@pytest.mark.parametrize(
    ("settings", "input_bytes", "derived"),
    [
        # Predictions follow from the length, and never exceed the pieces of text.
        *(
            ({"max_seq_length": length}, 0, {"max_predictions_per_seq": predictions})
            for length, predictions in ((512, 77), (128, 19), (8, 1))
        ),
        ({"max_seq_length": 8, "masked_lm_prob": 0.9}, 0, {"max_predictions_per_seq": 5}),
        # There is a shard for 32 MiB of text, but 8 to 1000.
        *(
            ({}, size, {"num_shards": n})
            for size, n in ((0, 8), (8 << 25, 8), ((8 << 25) + 1, 9), (10**9, 30), (10**15, 1000))
        ),
        # What is given is not derived.
        ({"max_predictions_per_seq": 20, "num_shards": 2}, 10**15, {}),
    ],
)
def test_what_is_left_out_follows_from_the_rest(settings, input_bytes, derived):
    config = DataConfig(**settings)
    resolved = dataclasses.asdict(config.resolved(input_bytes=input_bytes))
    assert resolved.items() >= derived.items()
    if not derived:
        assert resolved == dataclasses.asdict(config)


@pytest.mark.parametrize(
    ("settings", "start"),
    [
        *(({}, 10), (COOLDOWN, 8)),
        *((COOLDOWN | {"cooldown_share": share}, start) for share, start in ((0.0, 10), (0.9, 1))),
    ],
)
def test_a_cooldown_is_the_last_share_of_the_steps(settings, start):
    assert TrainConfig(steps=10, **settings).cooldown_start == start


@pytest.mark.parametrize(
    ("settings", "examples"),
    [
        ({"steps": 7000, "batch_size": 16}, 672),
        ({"steps": 1300, "batch_size": 16}, 240),
        ({"steps": 125_000, "batch_size": 4096}, 10_000),
        ({"steps": 10, "batch_size": 2}, 200),
        ({"steps": 10, "eval_examples": 3}, 3),
    ],
)
def test_evaluations_take_five_percent_of_the_time_but_200_examples(settings, examples):
    config = TrainConfig(**settings).resolved()
    assert config.eval_examples == examples
    if config.steps > 10:
        forward = config.steps // config.eval_every * examples / 3
        assert forward <= 0.05 * config.steps * config.batch_size


def test_the_longest_text_leaves_room_for_the_special_pieces():
    assert DataConfig(max_seq_length=512).max_tokens == 509
    assert DataConfig(max_seq_length=512, sentence_task="none").max_tokens == 510


def test_the_settings_of_table_14_are_settings_of_fine_tuning():
    assert list(TASK_RECIPES) == [
        *("cola", "sts-b", "sst-2", "mnli", "qnli", "qqp", "rte", "mrpc", "wnli"),
        *("squad", "squad2", "race"),
    ]
    config = FineTuneConfig(**TASK_RECIPES["qqp"])
    resolved = config.resolved(rows=363_846, width=768, max_seq_length=128)
    training = resolved.training()
    assert (training.steps, training.warmup_steps) == (14_000, 1000)
    assert (training.learning_rate, training.batch_size) == (5e-5, 128)
    assert (training.optimizer, training.bias_correction) == ("adamw", False)
    assert (resolved.dropout, resolved.head_dropout) == (0.1, 0.1)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"epochs": 1, "steps": 5}, "--epochs and --steps both say how long to train"),
        ({"steps": 5, "warmup_steps": 6}, "--warmup-steps must be at most"),
        ({"batch_size": 8, "micro_batch_size": 9}, "--micro-batch-size must be at most"),
    ],
)
def test_settings_of_fine_tuning_that_contradict_each_other_are_refused(values, sentence):
    with pytest.raises(SettingError, match=sentence):
        FineTuneConfig(**values).resolved(rows=64, width=32, max_seq_length=32)


@pytest.mark.parametrize(
    ("eval_examples", "held_out", "first", "others"),
    [(5000, 10_000, 200, 5000), (5000, 300, 200, 300), (50, 10_000, 50, 50)],
)
def test_a_first_evaluation_is_on_few_examples_never_more(eval_examples, held_out, first, others):
    config = TrainConfig(eval_examples=eval_examples).resolved()
    for is_trained, examples in ((False, first), (True, others)):
        assert config.evaluated_examples(held_out=held_out, is_trained=is_trained) == examples
