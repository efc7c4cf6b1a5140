import dataclasses

import pytest

from pipeline.tasks.named_tasks import submission_text, task_called
from pipeline.tasks.training_data import check_examples, hold_out, warnings_about, with_labels
from schemas.errors import AlbertError
from schemas.task import Answer, Columns, TaskExample, TaskSpec
from tests.refusals import refusal


def texts(*pairs, field="label"):
    """Examples of texts, each with a value of one field."""
    return [
        TaskExample(id=str(n), place=f"file, line {n}", text=text, **{field: value})
        for n, (text, value) in enumerate(pairs)
    ]


GOOD_AND_BAD = texts(*[(f"text {n}", ("bad", "good")[n % 2]) for n in range(40)])


ENTITIES = texts(("a b", ("B-P", "O")), ("c", ("B-L",)), field="tags")


@pytest.mark.parametrize(
    ("kind", "examples", "labels", "metrics"),
    [
        ("classify", GOOD_AND_BAD, "bad good", "accuracy macro_f1"),
        ("classify", texts(("a", "10"), ("b", "9"), ("c", "100")), "9 10 100", "accuracy macro_f1"),
        ("tag", ENTITIES, "O B-L I-L B-P I-P", "entity_f1"),
        ("tag", texts(("a b", ("NOUN", "VERB")), field="tags"), "NOUN VERB", "accuracy"),
    ],
    ids=["sorted", "numbers by their value", "first and other words of entities", "words"],
)
def test_labels_and_measures_follow_from_the_examples(kind, examples, labels, metrics):
    task = with_labels(task_called(kind), examples)
    assert (" ".join(task.labels), " ".join(task.metrics)) == (labels, metrics)


def test_questions_without_an_answer_make_a_task_one_that_has_them():
    examples = texts(("a", (Answer("a", 0),)), ("b", ()), field="answers")
    assert with_labels(task_called("answer"), examples).has_unanswerable
    assert not with_labels(task_called("answer"), examples[:1]).has_unanswerable


@pytest.mark.parametrize(
    ("task", "examples", "sentence"),
    [
        (
            "classify",
            texts(("a", "good"), ("b", "good")),
            "All 2 training examples have the same label 'good'; there is nothing to learn.",
        ),
        (
            "regress",
            texts(("a", 1.0), ("b", 1.0), field="score"),
            "All 2 training examples have the same score 1.0; there is nothing to learn.",
        ),
        (
            "rte",
            texts(("a", "entailment"), ("b", "neutral")),
            "file, line 1: the label 'neutral' is not one of rte: entailment, not_entailment.",
        ),
    ],
)
def test_examples_that_nothing_could_be_learned_from_are_refused(task, examples, sentence):
    assert refusal(lambda: with_labels(task_called(task), examples)) == sentence


@pytest.mark.parametrize(
    ("train", "sentence"),
    [
        (GOOD_AND_BAD, "no training example has the label 'so-so'; add some, or leave it out."),
        ([], "'so-so' is none of the labels of the model (bad, good); rename it, or leave it out."),
    ],
    ids=["training", "a trained model"],
)
def test_a_label_that_only_the_evaluation_has_is_refused(train, sentence):
    task = with_labels(task_called("classify"), GOOD_AND_BAD)
    others = texts(("a", "good"), ("b", "so-so"))
    found = refusal(check_examples, task, train, evaluation=others)
    assert found == f"file, line 1: {sentence}"


RARE = ", ".join(f"label {n:02} 1" for n in range(20))
PAIRS = [dataclasses.replace(e, text="same", text_pair=e.text) for e in GOOD_AND_BAD]
ASKED = texts(("passage", (Answer("passage", 0),)), field="answers")
# By kind: what is trained on, what evaluated, and what is told.
TOLD = {
    "classify": (
        [*GOOD_AND_BAD, *texts(("", "so-so"), ("rare", "so-so"))],
        texts((" text  3", "bad"), ("new", "good")),
        "Labels with fewer than 10 training examples: so-so 2.",
        "Evaluation examples with a text that is trained on: 1 of 2.",
        "Examples with an empty text: 1.",
    ),
    "classify, labels that may be missing ones": (
        [*GOOD_AND_BAD, *texts(*[(f"more {n}", ("nan", "-1", "?")[n % 3]) for n in range(30)])],
        [],
        "Labels that may say that there is none: -1 10, ? 10, nan 10; leave out their rows if they "
        "do.",
    ),
    "classify, capitals": (
        [*GOOD_AND_BAD, *texts(*[(f"more {n}", "BAD") for n in range(10)])],
        [],
        "Labels that differ in capital letters alone: BAD, bad.",
    ),
    "classify, of many rare labels twenty": (
        texts(*((f"text {n}", f"label {n:02}") for n in range(25))),
        [],
        f"Labels with fewer than 10 training examples: {RARE} and 5 more.",
    ),
    "classify, pairs of which one text alone is the same": (
        *(PAIRS, [PAIRS[0], dataclasses.replace(PAIRS[0], text_pair="other")]),
        "Evaluation examples with a text that is trained on: 1 of 2.",
    ),
    "answer, another question on a passage": (
        *(ASKED, [dataclasses.replace(ASKED[0], text_pair="Another question?")]),
        "Evaluation examples with a text that is trained on: 1 of 1.",
    ),
    "multilabel, no example with several": (
        texts(*[(str(n), ("#joy #awe",)) for n in range(10)], ("a", ()), field="labels"),
        [],
        "No example has several labels; to divide those of a cell give a list, or ; or | between "
        "them.",
    ),
    "classify, nothing": (GOOD_AND_BAD, texts(("new", "good"))),
}


@pytest.mark.parametrize("kind", TOLD)
def test_what_a_person_should_know_is_told_in_a_sentence_each(kind):
    train, others, *told = TOLD[kind]
    task = with_labels(task_called(kind.partition(",")[0]), train)
    assert list(warnings_about(task, train, evaluation=others)) == told


def test_a_few_lost_answers_are_told_and_many_refused():
    found, lost = (Answer("text", 0),), (Answer("none", -1),)
    train = texts(*[("text", found)] * 19, ("text", lost), field="answers")
    task = with_labels(task_called("answer"), train)
    check_examples(task, train, evaluation=[])
    assert list(warnings_about(task, train, evaluation=[])) == [
        "Questions not trained on, because their answers are not in their passages: 1."
    ]
    assert refusal(check_examples, task, train[-2:], evaluation=[]) == (
        "file, line 19 and 0 more of 2 have an answer that is not in the passage; copy "
        "answers from it character by character."
    )


def test_a_tenth_of_each_label_is_held_out_by_the_text_alone():
    train, held_out = hold_out(GOOD_AND_BAD)
    assert sorted(example.label for example in held_out) == ["bad"] * 2 + ["good"] * 2
    assert len(train) == 36
    again = hold_out(GOOD_AND_BAD[::-1])
    assert sorted(e.text for e in again[1]) == sorted(e.text for e in held_out)


def test_a_label_that_one_text_alone_has_is_trained_on():
    labels = (("common", f"rare {n}") if n % 2 else ("common",) for n in range(400))
    examples = texts(*((f"text {n}", each) for n, each in enumerate(labels)), field="labels")
    train, held_out = hold_out(examples)
    assert {one for e in train for one in e.labels} == {one for e in examples for one in e.labels}
    assert {e.labels for e in held_out} == {("common",)}


def test_questions_on_one_passage_are_held_out_together():
    examples = [
        dataclasses.replace(example, label=None, text=f"passage {n % 20}")
        for n, example in enumerate(GOOD_AND_BAD)
    ]
    train, held_out = hold_out(examples)
    assert not {e.text for e in train} & {e.text for e in held_out}
    assert len(held_out) == 4


def test_two_texts_are_held_out_in_both_orders_together():
    pairs = [(f"text {n}", f"text {n + 100}") for n in range(100)]
    examples = [
        TaskExample(id="", place="", text=first, text_pair=second, label="01"[n % 2])
        for n, (one, other) in enumerate(pairs)
        for first, second in ((one, other), (other, one))
    ]
    train, held_out = ([{e.text, e.text_pair} for e in part] for part in hold_out(examples))
    assert not [pair for pair in held_out if pair in train]
    assert len(train) + len(held_out) == 200
    assert 20 < len(held_out) < 50


def test_too_few_examples_to_hold_some_out_are_refused():
    assert refusal(hold_out, GOOD_AND_BAD[:4]) == (
        "4 training examples are too few to hold out a tenth of them: no label has "
        "more than 2 different texts; give some to choose by with --eval."
    )
    same = [dataclasses.replace(each, label=None, text="One passage.") for each in GOOD_AND_BAD]
    with pytest.raises(AlbertError, match="there are no more than 1 different text;"):
        hold_out(same)


@pytest.mark.parametrize(
    ("task", "predictions", "expected"),
    [
        ("rte", ["entailment", "not_entailment"], "{}0\tentailment\n1\tnot_entailment\n"),
        ("cola", ["1", "0"], "{}0\t1\n1\t0\n"),
        ("sts-b", [-0.2, 3.14159], "{}0\t0.000\n1\t3.142\n"),
        ("squad2", ["Ada", ""], '{\n  "0": "Ada",\n  "1": ""\n}\n'),
    ],
)
def test_submissions_are_what_glue_and_squad_take(task, predictions, expected):
    text = submission_text(task_called(task), GOOD_AND_BAD[:2], predictions)
    assert text == expected.replace("{}", "index\tprediction\n")


@pytest.mark.parametrize(
    ("kind", "sentence"), [("classify", "The labels are numbers"), ("tag", "The tags are numbers")]
)
def test_labels_without_names_are_said(kind, sentence):
    values = {"classify": {"label": "1"}, "tag": {"words": ("a",), "tags": ("1",)}}
    example = TaskExample(id="0", place="", text="a", **values[kind])
    spec = TaskSpec(name=kind, kind=kind, labels=("0", "1"))
    said = [*warnings_about(spec, [example] * 20, evaluation=[])]
    assert any(line.startswith(sentence) for line in said)
    named = TaskSpec(name=kind, kind=kind, labels=("no", "yes"))
    assert not any("numbers" in x for x in warnings_about(named, [], evaluation=[]))


def test_a_label_with_the_sign_in_it_that_divides_others_is_told():
    examples = texts(*[(str(n), ("Food, Drink", "Sport")) for n in range(10)], field="labels")
    columns = Columns(divider=",")
    spec = with_labels(TaskSpec(name="multilabel", kind="multilabel", columns=columns), examples)
    assert [*warnings_about(spec, examples, evaluation=[])] == [
        "Labels with ',' in them, which divides those of other rows: Food, Drink."
    ]


@pytest.mark.parametrize(
    ("labels", "odd"),
    [
        (("LOC", "O", "PER"), "LOC, PER"),
        (('"B-PER"', '"O"'), '"B-PER", "O"'),
        (("B-PER", "I-PER", "O", "tag"), "tag"),
        (("B-PER", "I-PER", "O"), None),
        (("NOUN", "VERB"), None),
    ],
)
def test_tags_that_are_measured_by_the_word_for_some_of_them_are_told(labels, odd):
    examples = texts(("a b", labels), field="tags")
    spec = TaskSpec(name="tag", kind="tag", labels=labels)
    said = [x for x in warnings_about(spec, examples * 20, evaluation=[]) if "entities" in x]
    told = "Tags that are none of entities, such as B-PER: {}; so words are measured and no "
    assert said == ([f"{told.format(odd)}entities."] if odd else [])


def test_pairs_are_measured_by_scores_only_where_scores_are_learned():
    pairs = texts(("a", 1.0), ("b", 1.0), field="score")
    scored = texts(("a", 0.5), ("b", 1.0), field="score")
    task = with_labels(task_called("embed"), pairs)
    check_examples(task, pairs, evaluation=pairs)
    with pytest.raises(AlbertError, match="have scores, and those to train on have none"):
        check_examples(task, pairs, evaluation=scored)
    check_examples(with_labels(task_called("embed"), scored), scored, evaluation=pairs)
