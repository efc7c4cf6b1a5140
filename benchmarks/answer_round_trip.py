"""How many answers come back from their tokens: text to tokens to text.

    python -m benchmarks.answer_round_trip VOCAB FILE...

VOCAB is a SentencePiece model or a vocab.txt, FILE in the form of SQuAD. Of the
questions that have an answer: in how many the text of the tokens that a model would be
trained on is a right answer, by SQuAD's own comparison, and character by character.
"""

import argparse
import re
import string
from collections.abc import Iterator
from pathlib import Path

from pipeline.encoding.encoding import encode_examples
from pipeline.tasks.named_tasks import task_called
from pipeline.tasks.task_files import read_task_file
from pipeline.vocabulary.tokenizer import Tokenizer, load_tokenizer
from pipeline.vocabulary.wordpiece import read_wordpiece
from schemas.task import TaskExample

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_MARKS = str.maketrans("", "", string.punctuation)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("vocab", type=Path)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--max-seq-length", type=int, default=384)
    arguments = parser.parse_args()
    tokenizer = read_vocabulary(arguments.vocab)
    print("| file | answers | exact match | same characters |\n|---|--:|--:|--:|")
    for path in arguments.files:
        pairs = list(
            round_trip(path, tokenizer, max_seq_length=arguments.max_seq_length)
        )
        right = sum(plain(text) in map(plain, answers) for text, answers in pairs)
        same = sum(text in answers for text, answers in pairs)
        shares = f"{right / len(pairs):.3%} | {same / len(pairs):.3%}"
        print(f"| {Path(path).name} | {len(pairs):,} | {shares} |")


def read_vocabulary(path: Path) -> Tokenizer:
    if path.suffix == ".txt":
        return read_wordpiece(path)
    return load_tokenizer(path.read_bytes())


def round_trip(
    path: str, tokenizer: Tokenizer, *, max_seq_length: int
) -> Iterator[tuple[str, list[str]]]:
    """What comes back of each question that has an answer, and all that is right."""
    task = task_called("squad2")
    examples: list[TaskExample] = read_task_file(path, task).examples
    rows = encode_examples(
        examples,
        task,
        tokenizer=tokenizer,
        max_seq_length=max_seq_length,
        doc_stride=128,
        max_query_length=64,
    )
    found: dict[int, str] = {}
    for row in rows:
        if row.window is not None and isinstance(row.target, tuple) and any(row.target):
            first, last = row.target
            text = examples[row.example].text
            found[row.example] = text[row.window.starts[first] : row.window.ends[last]]
    for number, example in enumerate(examples):
        if example.answers:
            answers = [answer.text for answer in example.answers]
            yield found.get(number, ""), answers


def plain(text: str) -> str:
    """A text as SQuAD compares it (`evaluate-v2.0.py`, `normalize_answer`).

    >>> plain("The  Answer, 42.")
    'answer 42'
    """
    without = _ARTICLES.sub(" ", text.lower().translate(_MARKS))
    return " ".join(without.split())


if __name__ == "__main__":
    main()
