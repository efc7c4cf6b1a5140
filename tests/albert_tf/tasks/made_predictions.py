"""2,000 made predictions of each kind, always the same, beside what is right."""

import numpy as np

NUMBER = 2000
WORDS = (
    *("the", "a", "an", "The", "Rhine", "rhine", "river,", "10th", "century;", "U.S."),
    *("Émile's", "3.5", "km²", "the.", "—", "«north»", "(of)", "Basel", "an,", "1,000"),
    *("m-dash", "$5", "'a'", "A.D.", "über", "THE_", "end!", "x"),
)
PARTS = (
    *("北", "京", "市", "大", "学", "中", "国", "的", "，", "。", "《", "》", "、"),
    *("·", "（", "）", "NBA", "40km", "3.5", "1,000", "Henry A. Walsh", "km²", "°"),
    *(" ", "-", "%", "(", "U.S.", "—", "Ａ．", "2018"),
)


def generator(seed):
    return np.random.Generator(np.random.PCG64(seed))


def made_answers(*, seed=0, has_unanswerable=False, parts=WORDS, between=" "):
    """What is said of each question and all that is right: parts of one of these,
    in another case, with something before or after."""
    rng, made = generator(seed), []

    def some(least, most):
        chosen = rng.integers(0, len(parts), int(rng.integers(least, most)))
        words = [parts[number] for number in chosen]
        # What is nothing but articles and marks is an answer to the script of SQuAD
        # 1.1, and half of one to that of SQuAD 2.0; here it is none.
        words.insert(int(rng.integers(len(words) + 1)), parts[int(rng.integers(4, 6))])
        return words

    for _ in range(NUMBER):
        golds = [some(0, 6) for _ in range(rng.integers(1, 4))]
        said = list(golds[int(rng.integers(len(golds)))])
        first = int(rng.integers(0, 2))
        said = said[first : len(said) - int(rng.integers(0, 2))]
        said = some(0, 2) + said if rng.random() < 0.5 else said + some(0, 2)
        if rng.random() < 0.1:
            said = []
        if has_unanswerable and rng.random() < 0.3:
            golds = []
        text = between.join(said)
        text = text.upper() if rng.random() < 0.2 else text
        made.append((text, tuple(map(between.join, golds))))
    return made


def made_chinese_answers():
    return made_answers(seed=1, parts=PARTS, between="")


def made_null_scores(made):
    """How much likelier no answer is, different for each question, and often right."""
    scores = generator(2).permutation(NUMBER) / 100 - 10
    return scores + np.array([0.0 if golds else 7.005 for _, golds in made])
