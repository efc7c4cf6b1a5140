"""Entities of tags."""

import pytest

from albert_tf.tasks.tags import Found, count_entities
from schemas.tag_schemes import Entity, entities_of


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
