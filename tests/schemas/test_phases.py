"""Settings of examples as values and schedules, and the phases that follow."""

import pytest

from schemas.config import DataConfig, TrainConfig
from schemas.errors import SettingError
from schemas.phases import Ramp, Stage, parse_schedule, phases_of
from tests.refusals import refusal

DATA = DataConfig(max_seq_length=128).resolved(input_bytes=0)


@pytest.mark.parametrize(
    ("text", "setting", "stages"),
    [
        ("512", "max_seq_length", [Stage(512, 512, 0.0, 1.0)]),
        ("none", "sentence_task", [Stage("none", "none", 0.0, 1.0)]),
        ("0.30..0.15", "masked_lm_prob", [Stage(0.3, 0.15, 0.0, 1.0)]),
        (
            *("0.3:0.2, 0.3..0.1", "masked_lm_prob"),
            [Stage(0.3, 0.3, 0.0, 0.2), Stage(0.3, 0.1, 0.2, 1.0)],
        ),
        (
            *("by-rarity:0.8,alike", "masked_words"),
            [Stage("by-rarity", "by-rarity", 0.0, 0.8), Stage("alike", "alike", 0.8, 1.0)],
        ),
        (
            *("64:0.3,128:0.3,512", "max_seq_length"),
            [Stage(64, 64, 0.0, 0.3), Stage(128, 128, 0.3, 0.6), Stage(512, 512, 0.6, 1.0)],
        ),
    ],
)
def test_a_value_or_a_schedule_is_pieces_of_the_run(text, setting, stages):
    assert parse_schedule(text, setting) == tuple(stages)


NO_SCHEDULE = " is neither a value nor a schedule; give something like 512 or 128:0.9,512."
NO_SHARES = (
    ": each share must be more than 0 and their sum less than 1; the rest of the steps "
    "has the last value."
)


@pytest.mark.parametrize(
    ("setting", "text", "problem"),
    [
        *(
            ("max_seq_length", text, NO_SCHEDULE)
            for text in ("", "x", "128:", "128:0.5", "128:a,64", "128,64", "1.5")
        ),
        *(
            ("max_seq_length", text, NO_SHARES)
            for text in ("64:0,128", "64:1,128", "64:0.6,96:0.4,128")
        ),
        (
            *("max_seq_length", "64..128"),
            ": only --masked-lm-prob can change with every step; give something like 512 or "
            "128:0.9,512.",
        ),
        (
            *("kept_share", "0.4..0.1"),
            ": only --masked-lm-prob can change with every step; give something like 0.1 or "
            "0.4:0.8,0.1.",
        ),
        (*("sentence_task", "sop:0.5,none"), ": a model has one sentence task; give one value."),
    ],
)
def test_what_is_no_schedule_is_one_sentence(setting, text, problem):
    said = refusal(parse_schedule, text, setting, error=SettingError)
    assert said == f"--{setting.replace('_', '-')} {text!r}{problem}"


def test_without_settings_a_run_is_one_phase_of_its_data():
    (phase,) = phases_of(DATA, TrainConfig())
    assert (phase.first_step, phase.config, phase.ramp) == (0, DATA, None)


def test_a_phase_begins_wherever_a_setting_changes():
    train = TrainConfig(steps=1000, max_seq_length="64:0.9,128", masked_lm_prob="0.3:0.5,0.3..0.15")
    phases, ramp = phases_of(DATA, train), Ramp(0.3, 0.15, 500, 999)
    assert [(p.first_step, p.ramp) for p in phases] == [(0, None), (500, ramp), (900, ramp)]
    lengths = [(p.config.max_seq_length, p.config.max_predictions_per_seq) for p in phases]
    assert lengths == [(64, 19), (64, 19), (128, 38)]


def test_predictions_that_the_data_limits_stay_limited_at_its_lengths():
    data = DataConfig(max_seq_length=128, max_predictions_per_seq=5)
    (phase,) = phases_of(data.resolved(input_bytes=0), TrainConfig(sentence_task="none"))
    assert phase.config.max_predictions_per_seq == 5


@pytest.mark.parametrize(
    ("setting", "text", "problem"),
    [
        ("max_seq_length", "4", "--max-seq-length must be at least 8, not 4."),
        ("masked_lm_prob", "0.95", "--masked-lm-prob must be at most 0.9, not 0.95."),
        ("masked_lm_prob", "0.5..-1", "--masked-lm-prob must be at least 0.0, not -1.0."),
        ("kept_share", "0.95", "--kept-share must be at most 0.9, not 0.95."),
        ("masked_words", "all", "--masked-words must be one of alike, by-rarity, not 'all'."),
        ("sentence_task", "qa", "--sentence-task must be one of sop, nsp, none, not 'qa'."),
    ],
)
def test_settings_that_fit_no_sequence_are_refused(setting, text, problem):
    assert refusal(phases_of, DATA, TrainConfig(**{setting: text}), error=SettingError) == problem
