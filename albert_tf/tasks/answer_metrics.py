"""Answers compared as the scripts of SQuAD 1.1, SQuAD 2.0 and CMRC 2018 compare them.

SQuAD: lower-case, without ASCII punctuation and the articles a, an, the, words divided
at spaces. CMRC: lower-case, without its punctuation, Chinese by character and all else
by word, F1 by the longest common part. Its script divides words by NLTK, of which the
rules for marks are here, but not those for English contractions.
"""

import collections
import re
import string
from collections.abc import Callable, Iterable, Sequence

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = frozenset(string.punctuation)

# What CMRC's script leaves out (cmrc2018_evaluate.py), and what is one part each.
_CMRC_PUNCTUATION = frozenset("-:_*^/\\~`+=，。：？！“”；’《》·、「」（）－～『』")
_HAN = r"\u4e00-\u9fa5"
_ALONE = r";@#$%&?!()\[\]{}<>\"—–"
_PARTS = re.compile(
    # A comma goes on before a digit, and a full stop unless the words end there.
    rf"[{_HAN}]|(?:[^\s{_HAN}{_ALONE},.]|,(?=\d)|\.(?!\s*(?:[{_HAN}]|$)))+|\S"
)


def normalized(text: str) -> str:
    """An answer as SQuAD compares it.

    >>> normalized("The  Rhine, a river.")
    'rhine river'
    """
    kept = "".join(c for c in text.lower() if c not in _PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", kept).split())


def exact_match(prediction: str, gold: str) -> float:
    """1 if both are the same answer, else 0."""
    return float(normalized(prediction) == normalized(gold))


def answer_f1(prediction: str, gold: str) -> float:
    """F1 of the words that both have; without any word, 1 if neither has one.

    >>> answer_f1("the river Rhine", "Rhine")
    0.6666666666666666
    """
    said, wanted = normalized(prediction).split(), normalized(gold).split()
    if not said or not wanted:
        return float(said == wanted)
    same = sum((collections.Counter(said) & collections.Counter(wanted)).values())
    return _f1(same, len(said), len(wanted))


def cmrc_exact_match(prediction: str, gold: str) -> float:
    """1 if both are the same but for punctuation, else 0."""
    return float(_without_punctuation(gold) == _without_punctuation(prediction))


def cmrc_f1(prediction: str, gold: str) -> float:
    """F1 of the longest part that both have in common, by character.

    >>> cmrc_f1("在北京市", "北京")
    0.6666666666666666
    """
    said, wanted = segmented(prediction), segmented(gold)
    same = longest_common(said, wanted)
    return _f1(same, len(said), len(wanted))


def segmented(text: str) -> list[str]:
    """Chinese by character, what is between by word, no punctuation.

    >>> segmented("他在 NBA 打球。")
    ['他', '在', 'nba', '打', '球']
    """
    return _PARTS.findall(_without_punctuation(text))


def longest_common(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the longest run of parts that both have.

    >>> longest_common("abcd", "xbcy")
    2
    """
    best, row = 0, [0] * (len(other) + 1)
    for part in one:
        new = [0] * (len(other) + 1)
        for place, theirs in enumerate(other):
            if part == theirs:
                new[place + 1] = row[place] + 1
        best, row = max(best, *new), new
    return best


def best_of(
    measure: Callable[[str, str], float], prediction: str, golds: Iterable[str]
) -> float:
    """The best over all right answers; a question without any has the answer "".

    As in SQuAD 2.0 an answer of nothing but punctuation and articles is none; 1.1 has
    three of them in its dev set.

    >>> best_of(exact_match, "", ["."]), best_of(exact_match, "", [".", "Rhine"])
    (1.0, 0.0)
    """
    if measure in (exact_match, answer_f1):
        golds = filter(normalized, golds)
    values = [measure(prediction, gold) for gold in golds]
    return max(values) if values else measure(prediction, "")


def best_null_threshold(
    null_scores: Sequence[float],
    answered: Sequence[float],
    unanswered: Sequence[float],
) -> tuple[float, float]:
    """The null score above which questions are best said to have no answer.

    As `find_best_thresh_v2` of SQuAD 2.0, whose threshold is just above a score.

    Args:
        null_scores: Of each question: of no answer, minus that of the best answer.
        answered: What each question is worth with its best answer.
        unanswered: What it is worth without answer.

    Returns:
        The threshold, and the mean worth with it; a question has no answer where its
        score is greater.
    """
    order = sorted(range(len(null_scores)), key=lambda number: null_scores[number])
    total = best = sum(unanswered)
    threshold = null_scores[order[0]] - 1.0
    for place, number in enumerate(order):
        total += answered[number] - unanswered[number]
        following = order[place + 1] if place + 1 < len(order) else None
        is_last = following is None or null_scores[following] != null_scores[number]
        if is_last and total > best:
            best, threshold = total, null_scores[number]
    return threshold, best / len(order)


def _without_punctuation(text: str) -> str:
    kept = (c for c in text.lower().strip() if c not in _CMRC_PUNCTUATION)
    return "".join(kept)


def _f1(same: int, said: int, wanted: int) -> float:
    if not same:
        return 0.0
    precision, recall = same / said, same / wanted
    return 2 * precision * recall / (precision + recall)
