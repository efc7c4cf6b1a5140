"""Random encoded examples of each kind, which a small model can learn."""

from array import array

import numpy as np

from schemas.architecture import ModelConfig
from schemas.example import CLS_ID, SEP_ID
from schemas.task import (
    Answer,
    EncodedExample,
    TaskExample,
    TaskRows,
    TaskSpec,
    TokenSequence,
    Window,
)

TINY = ModelConfig(
    vocab_size=40,
    embedding_size=16,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=64,
    max_position_embeddings=32,
)
LABELS = ("no", "yes")
METRICS = {
    "classify": "accuracy",
    "multilabel": "micro_f1",
    "regress": "pearson",
    "choose": "accuracy",
    "answer": "exact_match",
    "tag": "accuracy",
    "embed": "recall_at_1",
}
# A token that stands for yes, or where an answer is.
YES, FIRST_OTHER = 7, 10


def spec_of(kind):
    labels = LABELS if kind in ("classify", "multilabel", "tag") else ()
    return TaskSpec(name=kind, kind=kind, labels=labels, metrics=(METRICS[kind],))


def random_rows(kind, *, number=64, seed=0, shortest=8):
    """Examples that are told by where, or whether, one token is there.

    Args:
        shortest: Tokens of the shortest; of more than 16 all are computed in one width.
    """
    rng = np.random.default_rng(seed)
    pairs = [_example(kind, rng, row, shortest) for row in range(number)]
    return TaskRows([example for example, _ in pairs], [row for _, row in pairs])


def _example(kind, rng, number, shortest):
    length = int(rng.integers(shortest, 25))
    ids = rng.integers(FIRST_OTHER, TINY.vocab_size, length)
    ids[0], ids[-1] = CLS_ID, SEP_ID
    is_yes, place = int(rng.integers(2)), int(rng.integers(1, length - 1))
    if kind in ("classify", "multilabel", "regress") and is_yes:
        ids[place] = YES
    words = length - 2
    example, row, options = {"text": " ".join("a" * words)}, {}, ()
    if kind == "classify":
        example, row["target"] = {**example, "label": LABELS[is_yes]}, is_yes
    elif kind == "multilabel":
        example["labels"], row["target"] = LABELS[: is_yes + 1], (1, is_yes)
    elif kind == "regress":
        example["score"] = row["target"] = float(is_yes)
    elif kind == "choose":
        example |= {"choice": is_yes, "options": ("a", "b", "c")}
        row["target"], options = is_yes, (0, 1, 2)
    elif kind == "tag":
        tags = tuple(int(token % 2) for token in ids[1:-1])
        example |= {"words": ("a",) * words, "tags": tuple(LABELS[t] for t in tags)}
        row |= {"target": tags, "word_starts": tuple(range(1, length - 1))}
    elif kind == "embed":
        example |= {"text_pair": "a", "score": 1.0}
        row["target"] = 1.0
    else:
        ids[place] = YES
        # A passage of a character for each token, all different.
        text = "".join(chr(0x4E00 + n) for n in range(words))
        example = {"text": text, "answers": (Answer(text[place - 1], place - 1),)}
        inside = range(words)
        row["target"] = (place, place)
        row["window"] = Window(
            array("i", [-1, *inside, -1]),
            array("i", [-1, *(n + 1 for n in inside), -1]),
            bytes([0, *[1] * words, 0]),
        )
    sequences = [_sequence(ids, length // 2)]
    if kind == "embed":
        # The same tokens in another order.
        other = np.concatenate([ids[:1], rng.permutation(ids[1:-1]), ids[-1:]])
        sequences = [_sequence(ids, length), _sequence(other, length)]
    if options:
        sequences = [_sequence(np.insert(ids, 2, YES if n == is_yes else 8), 2) for n in options]
    return (
        TaskExample(id=str(number), place="", **example),
        EncodedExample(example=number, sequences=tuple(sequences), **row),
    )


def _sequence(ids, first):
    return TokenSequence(array("i", ids.tolist()), first)
