"""What guessing says of examples, beside which a model is measured."""

import pytest

from albert_tf.tasks.baselines import baselines_of
from schemas.task import TaskExample, TaskSpec


def example(text, **values):
    return TaskExample(**{"id": "", "place": "", "text": text, **values})


GOOD, BAD = "a good film", "a bad film"
TEXTS = [GOOD, BAD] * 6
CHOICES = [
    example("The cat sat.", options=("a dog", "the cat"), choice=1),
    example("Rain fell.", text_pair="What fell?", options=("rain", "snow"), choice=0),
]
ALIKE = [example(text, label="good") for text in TEXTS]


@pytest.mark.parametrize(
    ("kind", "train", "asked", "guessed"),
    [
        ("classify", [example(t, label=t.split()[1]) for t in TEXTS], [GOOD, BAD], [1, 0]),
        ("classify", ALIKE, [GOOD, BAD], [1, 1]),
        ("regress", [example(t, score=float(t == GOOD)) for t in TEXTS], [GOOD, BAD], [1.0, 0.0]),
    ],
)
def test_words_that_tell_the_labels_are_found(kind, train, asked, guessed):
    labels = ("bad", "good") if kind == "classify" else ()
    spec = TaskSpec(name=kind, kind=kind, metrics=("accuracy",), labels=labels)
    found = baselines_of(spec, train, [example(text) for text in asked])["words"]
    assert found == pytest.approx(guessed, abs=0.2)


def test_an_option_with_the_words_of_its_text_and_question_is_guessed():
    spec = TaskSpec(name="choose", kind="choose", metrics=("accuracy",))
    assert baselines_of(spec, CHOICES, CHOICES)["words"] == [1, 0]
