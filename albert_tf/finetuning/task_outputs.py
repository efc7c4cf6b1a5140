"""From the logits of rows to what a model says of each example.

An output is `[L]` (`classify`, `multilabel`), `[1]` (`regress`) or `[O]` (`choose`)
logits, `[W, L]` of the words of `tag`, or the `AnswerScores` of a question.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from albert_tf.finetuning.answers import answer_scores
from albert_tf.finetuning.calibration import sigmoid, softmax
from albert_tf.finetuning.entity_metrics import entities_of, has_entities
from schemas.task import EncodedExample, TaskExample, TaskSpec

Array = npt.NDArray[np.float64]

# The probability from which a `multilabel` label is given, unless one was chosen.
HALF = 0.5


def outputs_of(
    spec: TaskSpec,
    examples: Sequence[TaskExample],
    rows: Sequence[EncodedExample],
    logits: Sequence[Array],
    *,
    max_answer_tokens: int,
) -> list[Any]:
    """What a model says of each example.

    Args:
        spec: The task.
        examples: As they were encoded.
        rows: Of the examples.
        logits: Of each row, from `TaskLogits`.
        max_answer_tokens: Of an answer.
    """
    places: list[list[int]] = [[] for _ in examples]
    for place, row in enumerate(rows):
        places[row.example].append(place)
    outputs: list[Any] = []
    for example, own in zip(examples, places, strict=True):
        if spec.kind == "answer":
            outputs.append(
                answer_scores(
                    example.text,
                    [rows[place] for place in own],
                    [logits[place] for place in own],
                    max_tokens=max_answer_tokens,
                )
            )
        elif spec.kind == "tag":
            parts = [logits[place][list(rows[place].word_starts)] for place in own]
            empty = np.zeros((0, len(spec.labels)))
            outputs.append(np.concatenate([empty, *parts]))
        else:
            outputs.append(logits[own[0]])
    return outputs


def said(spec: TaskSpec, output: Any, *, threshold: float | None) -> Any:
    """The prediction, in the form of what is right (`task_measures`).

    Args:
        spec: The task.
        output: Of an example.
        threshold: The probability from which a `multilabel` label is given; the margin
            above which a question has no answer, None where all have one.
    """
    if spec.kind == "answer":
        best = output.best(threshold)
        return best.text if best else ""
    if spec.kind == "regress":
        return float(output[0])
    if spec.kind == "multilabel":
        least = HALF if threshold is None else threshold
        return tuple(int(p >= least) for p in sigmoid(output))
    if spec.kind == "tag":
        return tuple(int(n) for n in output.argmax(axis=1))
    return int(np.argmax(output))


def shown(
    spec: TaskSpec, example: TaskExample, output: Any, *, threshold: float | None
) -> dict[str, Any]:
    """A prediction for a person and for JSON."""
    prediction = said(spec, output, threshold=threshold)
    if spec.kind == "answer":
        return _answer(output, threshold)
    if spec.kind == "regress":
        return {"score": prediction}
    if spec.kind == "tag":
        return _tags(spec, example, output, prediction)
    if spec.kind == "choose":
        probabilities = softmax(output).tolist()
        return {
            "choice": prediction,
            "option": example.options[prediction],
            "probabilities": probabilities,
        }
    probabilities = sigmoid(output) if spec.kind == "multilabel" else softmax(output)
    named = dict(zip(spec.labels, probabilities.tolist(), strict=True))
    if spec.kind == "multilabel":
        labels = [
            n for n, is_said in zip(spec.labels, prediction, strict=True) if is_said
        ]
        return {"labels": labels, "probabilities": named}
    return {"label": spec.labels[prediction], "probabilities": named}


def _answer(output: Any, threshold: float | None) -> dict[str, Any]:
    best = output.best(threshold)
    scores = [span.score for span in output.spans]
    # As SQuAD's scripts print it.
    shares = softmax(np.array(scores)).tolist() if scores else []
    return {
        "answer": best.text if best else "",
        "start": best.start if best else None,
        "end": best.end if best else None,
        "null_margin": output.null_margin if output.spans else None,
        "n_best": [
            {
                "text": span.text,
                "start": span.start,
                "end": span.end,
                "score": span.score,
                "probability": share,
            }
            for span, share in zip(output.spans, shares, strict=True)
        ],
    }


def _tags(
    spec: TaskSpec, example: TaskExample, output: Array, prediction: tuple[int, ...]
) -> dict[str, Any]:
    tags = [spec.labels[number] for number in prediction]
    words = list(example.words[: len(tags)])
    shown: dict[str, Any] = {"words": words, "tags": tags}
    shown["probabilities"] = softmax(output).max(axis=1).tolist() if tags else []
    if has_entities(spec.labels):
        shown["entities"] = [
            {
                "type": entity.type,
                "text": " ".join(words[entity.start : entity.end]),
                "first_word": entity.start,
                "last_word": entity.end - 1,
            }
            for entity in entities_of(tags)
        ]
    return shown
