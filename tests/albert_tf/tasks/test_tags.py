"""Entities of tags."""

import itertools
import random

import pytest

from albert_tf.tasks.tags import Found, count_entities
from schemas.task import Entity, entities_of


@pytest.mark.parametrize(
    ("tags", "entities"),
    [
        (["I-A", "I-A", "I-B"], [Entity("A", 0, 2), Entity("B", 2, 3)]),
        (["O", "I-A", "B-A"], [Entity("A", 1, 2), Entity("A", 2, 3)]),
        (["B-A", "I-B", "O"], [Entity("A", 0, 1), Entity("B", 1, 2)]),
        (["B-A", "I-A"], [Entity("A", 0, 2)]),
        (["O", "O"], []),
        (["B-A", "E-A", "S-A"], [Entity("A", 0, 2), Entity("A", 2, 3)]),
        (["B-A", "L-A", "U-B"], [Entity("A", 0, 2), Entity("B", 2, 3)]),
        (["B-A", "M-A", "E-A", "W-A"], [Entity("A", 0, 3), Entity("A", 3, 4)]),
    ],
)
def test_entities_also_of_tags_that_break_the_rules(tags, entities):
    assert entities_of(tags) == entities


def test_entities_of_all_types_are_counted_together_and_apart():
    counts = count_entities([["B-A", "I-A", "O", "B-B"]], [["B-A", "O", "O", "B-B"]])
    assert counts == {"": Found(1, 2, 2), "A": Found(0, 1, 1), "B": Found(1, 1, 1)}
    assert counts[""].f1 == 0.5


TYPES = ("PER", "LOC")


def spans_of(rng, *, words):
    """Random entities of two types that do not overlap: first word, end, type."""
    ends = sorted(rng.sample(range(words + 1), k=6))
    pairs = itertools.pairwise(ends)
    return {(first, end, rng.choice(TYPES)) for first, end in pairs if rng.random() < 0.6}


def marked(spans, scheme, *, words):
    """The tags of words, where a scheme is the letters of B, I, E and S."""
    begin, inner, last, single = scheme
    tags = ["O"] * words
    for first, end, kind in spans:
        letters = [begin, *[inner] * (end - first - 2), last]
        letters = letters if end - first > 1 else [single]
        tags[first:end] = [f"{letter}-{kind}" for letter in letters]
    return tags


@pytest.mark.parametrize("scheme", ["BIES", "BILU", "BMEW", "BIIB"])
def test_the_f1_of_any_scheme_is_that_of_the_sets_of_entities(scheme):
    rng = random.Random(0)
    pairs = [[spans_of(rng, words=20) for _ in range(2)] for _ in range(100)]
    gold, said = ([marked(pair[side], scheme, words=20) for pair in pairs] for side in (0, 1))
    right = sum(len(ours & theirs) for theirs, ours in pairs)
    number = sum(len(ours) + len(theirs) for theirs, ours in pairs)
    assert count_entities(gold, said)[""].f1 == 2 * right / number
    suffixed = [["-".join(tag.split("-")[::-1]) for tag in tags] for tags in said]
    assert count_entities(gold, suffixed)[""].f1 == 2 * right / number
