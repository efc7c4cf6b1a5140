"""--budget: the model that is chosen, and what is said of the choice."""

import dataclasses
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.support.asked import Asked, parse_override, resolve_model
from cli.support.console import Console, silent_stderr
from schemas.architecture import PRESETS, ModelConfig
from schemas.config import suited_vocab_size
from schemas.manifest import DatasetManifest
from schemas.readable import aligned, rounded

if TYPE_CHECKING:
    from albert_tf.planning.budget import Candidate
    from albert_tf.training.budget import BudgetChoice

# The preset that the models of a budget are described as changes of.
NEAREST = "tiny"

# A vocabulary this many times larger or smaller than suits a text twice or half as long
# is worth a remark.
MUCH = 1.5

# Tokens that the published English ALBERTs were trained on: 125,000 steps of 4,096
# sequences of up to 512.
PUBLISHED_TOKENS = 125_000 * 4096 * 512


def choose(
    asked: Asked,
    manifest: DatasetManifest,
    *,
    check: Callable[[Asked, ModelConfig], object],
    console: Console,
) -> tuple[Asked, "BudgetChoice"]:
    """What the run is to be, by timing steps on this machine; what else there was.

    Args:
        check: Refuses what cannot be trained by one candidate, for in the fields that
            it checks all are equal.
    """
    with silent_stderr():
        from albert_tf.evaluation.counting import loss_of_counting
        from albert_tf.training import budget
        from albert_tf.training.run import records_of
    assert asked.budget is not None, "else nothing is chosen"
    models = models_to_choose_from(asked, manifest)
    check(asked, next(iter(models)))
    until = asked.started + asked.budget
    budget.check_is_enough(until - time.monotonic())
    train = asked.config
    if "precision" not in asked.given:
        train = dataclasses.replace(train, precision=budget.faster_precision())
    console.say("Counting neighbouring tokens ...")
    choice = budget.choose_for_budget(
        list(models),
        train,
        records_of(asked.data, manifest, train),
        counting=loss_of_counting(asked.data, manifest),
        until=until,
        say=console.say,
    )
    choice = dataclasses.replace(choice, characters=characters_of(asked.data, manifest))
    chosen = dataclasses.replace(models[choice.chosen.config], config=choice.train)
    record = record_of(choice, seconds=asked.budget)
    return dataclasses.replace(chosen, record=record), choice


def characters_of(data: Path, manifest: DatasetManifest) -> int:
    """How many different characters the vocabulary of a data set has as pieces."""
    from pipeline.dataset.manifest import load_vocabulary

    tokenizer = load_vocabulary(data, manifest)
    pieces = map(tokenizer.piece, range(tokenizer.vocab_size))
    return sum(len(piece) == 1 for piece in pieces)


def models_to_choose_from(asked: Asked, manifest: DatasetManifest) -> dict[ModelConfig, Asked]:
    """The model asked for, or those of the ladder that what --set says is valid for."""
    from albert_tf.data.data_check import manifests_of
    from albert_tf.training.budget import models_for

    made_first, *others = manifests_of(asked.config, manifest)
    if asked.is_model_given:
        found = [asked]
    else:
        rungs = models_for(
            made_first,
            longest=max(each.config.max_seq_length for each in (made_first, *others)),
            changes=dict(map(parse_override, asked.overrides)),
        )
        found = [
            dataclasses.replace(
                asked, model=NEAREST, overrides=(*overrides_of(rung), *asked.overrides)
            )
            for rung in rungs
        ]
    return {resolve_model(each.model, each.overrides, made_first): each for each in found}


def overrides_of(config: ModelConfig) -> tuple[str, ...]:
    """The values of --set that make the nearest preset this architecture.

    >>> overrides_of(dataclasses.replace(PRESETS["tiny"], num_hidden_layers=6))
    ('num_hidden_layers=6',)
    """
    preset = dataclasses.asdict(PRESETS[NEAREST])
    # What the data decides, no flag may.
    decided = ("vocab_size", "sentence_task")
    return tuple(
        f"{name}={value}"
        for name, value in dataclasses.asdict(config).items()
        if value != preset[name] and name not in decided
    )


def record_of(choice: "BudgetChoice", *, seconds: float) -> dict[str, Any]:
    """What config.json keeps of a choice, for people and for the next command."""
    return {
        "seconds": seconds,
        "loss_of_counting": choice.counting,
        "candidates": [
            {
                "num_hidden_layers": each.config.num_hidden_layers,
                "hidden_size": each.config.hidden_size,
                "step_seconds": each.step_seconds,
                "steps": each.steps,
                "expected_loss": choice.counting and each.expected_share * choice.counting,
                "interval": list(each.interval),
            }
            for each in choice.candidates
        ],
        "chosen": choice.place,
    }


def budget_lines(choice: "BudgetChoice", *, begins_anew: bool) -> Iterator[str]:
    """What was chosen and, of a model that begins anew, what to expect of it."""
    chosen = choice.chosen
    if begins_anew and not chosen.is_fitted:
        shape = ", and so is the choice of shape" if choice.candidates[1:] else ""
        yield f"No run like it was measured, so the expected loss is a guess{shape}."
    yield (
        f"chosen: {chosen.config.shape}, {chosen.steps:,} steps of "
        f"{choice.train.batch_size} sequences, learning rate "
        f"{choice.train.learning_rate:g}, {choice.train.precision}; "
        f"{chosen.tokens:,} tokens at {rounded(_rate(choice, chosen))} sequences/s."
    )
    if begins_anew:
        yield from _expectations(choice)


def _expectations(choice: "BudgetChoice") -> Iterator[str]:
    """The loss to expect, that of the models beside it, and advice."""
    from albert_tf.planning.budget import AS_GOOD

    chosen = choice.chosen
    yield f"expected: masked-LM loss {_loss(choice, chosen)}."
    for name, place in (("smaller", choice.place - 1), ("larger", choice.place + 1)):
        if 0 <= place < len(choice.candidates):
            other = choice.candidates[place]
            yield (
                f"next {name}: {other.config.shape}, {other.steps:,} steps, "
                f"loss {_loss(choice, other)}."
            )
    least = min(each.expected_share for each in choice.candidates[: choice.place + 1])
    if least < chosen.expected_share <= least * AS_GOOD:
        # To more digits than a guess beside it has, so that the two can be compared.
        lowest = least * (choice.counting or 1)
        yield (
            f"Losses within {AS_GOOD - 1:.0%} of the lowest, here {lowest:.2f}, count "
            "as equal; the largest of these models is chosen, because it goes on "
            "learning longest."
        )
    yield from _advice(choice)


def _advice(choice: "BudgetChoice") -> Iterator[str]:
    """What would do better: more text, a smaller vocabulary, a published model."""
    from albert_tf.planning.budget import MOST_EPOCHS

    chosen, text_tokens = choice.chosen, choice.outlook.text
    epochs = chosen.tokens / text_tokens
    if epochs > MOST_EPOCHS:
        yield (
            f"The text would be read {epochs:,.0f} times; what more than {MOST_EPOCHS} "
            "times are worth depends on the text, and more text would be worth more."
        )
    # vocab chose by all the text, part of which may be held out, and knew no tokens.
    suited, *near = (
        suited_vocab_size(int(text_tokens * f), characters=choice.characters) for f in (1, 0.5, 2)
    )
    pieces = chosen.config.vocab_size
    if not any(1 / MUCH <= pieces / each <= MUCH for each in (suited, *near)):
        yield (
            f"The vocabulary has {pieces:,} pieces; about "
            f"{suited:,} suit a text of {text_tokens:,} tokens better "
            "(albert vocab --vocab-size auto)."
        )
    times = PUBLISHED_TOKENS / chosen.tokens
    if times > 2:
        power = 10 ** int(math.log10(times))
        yield (
            "ALBERTs that others published have seen over "
            f"{int(times / power) * power:,} times as much text: if there is one for "
            "this language, albert import it and fine-tune that, or go on from it "
            "(--init-from) on data made with its vocabulary."
        )


def budget_table(choice: "BudgetChoice") -> list[str]:
    """Every model considered, the one chosen with a mark."""
    rows = [("", "sequences/s", "steps", "tokens", "expected loss", "")]
    for place, each in enumerate(choice.candidates):
        rows.append(
            (
                each.config.shape,
                rounded(_rate(choice, each)),
                f"{each.steps:,}",
                f"{each.tokens:,}",
                _loss(choice, each),
                "chosen" if place == choice.place else "",
            )
        )
    return aligned(rows)


def _rate(choice: "BudgetChoice", candidate: "Candidate") -> float:
    return choice.train.batch_size / candidate.step_seconds


def _loss(choice: "BudgetChoice", candidate: "Candidate") -> str:
    """The expected loss with its interval, in nats where these are known."""
    middle = candidate.expected_share * (choice.counting or 1)
    low, high = (share * middle for share in candidate.interval)
    unit = "" if choice.counting else " of the loss of counting neighbours"
    if candidate.is_fitted:
        return f"{middle:.2f} ({low:.2f} to {high:.2f}){unit}"
    return f"about {middle:.2g} ({low:.2g} to {high:.2g}){unit}"
