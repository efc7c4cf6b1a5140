"""The data card says what a person asks of a data set."""

import dataclasses
from pathlib import Path

import pytest

from pipeline.dataset.data_card import data_card
from pipeline.dataset.dataset import make_manifest
from tests.pipeline.dataset.test_dataset import BOOK, READ, SIDECARS, WIKI, plan

GOLDEN = Path(__file__).parent / "golden" / "data_card.md"
COMPLETE = "\nNothing was left out.\n"


@pytest.fixture
def manifest():
    return make_manifest(plan(WIKI, BOOK), SIDECARS, READ)


def test_the_data_card_describes_the_data_for_a_person(manifest):
    assert data_card(manifest) == GOLDEN.read_text(encoding="utf-8")


def test_a_card_says_when_nothing_was_left_out(manifest):
    whole = dataclasses.replace(manifest, dropped={}, changed={})
    assert COMPLETE in data_card(whole)


@pytest.mark.parametrize("kind", ["dropped", "changed"])
def test_a_card_does_not_say_so_where_something_was_left_out_or_changed(manifest, kind):
    card = data_card(
        dataclasses.replace(manifest, **{"dropped": {}, "changed": {}, kind: {"x": 1}})
    )
    assert COMPLETE not in card
    assert "\n| x | 1 |\n" in card


def test_a_small_share_is_not_shown_as_none(manifest):
    statistics = manifest.statistics | {"unknown_share": 0.00038}
    card = data_card(dataclasses.replace(manifest, statistics=statistics))
    assert "\n| unknown tokens | 0.038% |\n" in card


def test_a_name_cannot_break_the_table_or_command_the_terminal(manifest):
    named = manifest.inputs[0] | {"name": "a|b\n\x1b[2J"}
    card = data_card(dataclasses.replace(manifest, inputs=(named,)))
    assert "\n| a\\|b\ufffd\ufffd[2J | prose | en |" in card
