"""--budget: the model that is chosen, and what is said of the choice."""

import dataclasses
import math
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from cli.support.asked import Asked, parse_override, resolve_model
from cli.support.console import Console, silent_stderr
from schemas.architecture import ModelConfig
from schemas.config import suited_vocab_size
from schemas.errors import SettingError
from schemas.manifest import DatasetManifest
from schemas.readable import duration, rounded
from schemas.report import Table

if TYPE_CHECKING:
    from albert_tf.planning.budget import Candidate, Choice

# The preset that the models of a budget are described as changes of.
NEAREST = "tiny"

# A vocabulary this many times larger or smaller than suits a text twice or half as long
# is worth a remark.
MUCH = 1.5

# Tokens that the published English ALBERTs were trained on: 125,000 steps of 4,096
# sequences of up to 512.
PUBLISHED_TOKENS = 125_000 * 4096 * 512


def choose_model(
    asked: Asked, manifest: DatasetManifest, models: dict[ModelConfig, Asked], *, console: Console
) -> tuple[Asked, "Choice"]:
    """What the run is to be, by timing steps on this machine; what else there was.

    Args:
        models: Those to choose from, see `models_to_choose_from`.
    """
    with silent_stderr():
        from albert_tf.evaluation.counting import loss_of_counting
        from albert_tf.planning import budget
        from albert_tf.training.run import records_for
        from albert_tf.training.timing import ThisMachine
        from pipeline.dataset.manifest import load_vocabulary
    assert asked.budget is not None, "else nothing is chosen"
    until, begun = asked.started + asked.budget, time.monotonic()
    budget.check_is_enough(until - begun)
    console.say("Counting neighbouring tokens ...")
    counting = loss_of_counting(asked.data, manifest)
    train = asked.config
    machine = ThisMachine(
        records_for(asked.data, manifest, train),
        precision=train.precision if "precision" in asked.given else None,
    )
    has_larger_batch = machine.is_accelerator and not asked.given & {"batch_size", "learning_rate"}
    if has_larger_batch:
        # The rate goes with the batch as --scale-lr-to-batch has it.
        train = dataclasses.replace(
            train,
            batch_size=budget.ACCELERATOR_BATCH * train.batch_size,
            learning_rate=round(math.sqrt(budget.ACCELERATOR_BATCH) * train.learning_rate, 5),
        )
    choice = budget.choose(
        list(models),
        dataclasses.replace(train, precision=machine.precision),
        manifest,
        machine,
        latest=begun + budget.CHOOSING_SHARE * asked.budget,
        until=until,
        say=console.say,
    )
    train = choice.train
    if has_larger_batch:
        rate = train.learning_rate * budget.rate_share(choice.chosen.config)
        train = dataclasses.replace(train, learning_rate=round(rate, 5))
    tokenizer = load_vocabulary(asked.data, manifest)
    characters = sum(len(piece) == 1 for piece in tokenizer.pieces)
    choice = dataclasses.replace(
        choice, train=train, seconds=asked.budget, counting=counting, characters=characters
    )
    # What config.json keeps, for people and for the next command.
    record = {
        "seconds": asked.budget,
        "loss_of_counting": counting,
        "candidates": [
            {
                "num_hidden_layers": each.config.num_hidden_layers,
                "hidden_size": each.config.hidden_size,
                "step_seconds": each.step_seconds,
                "steps": each.steps,
                "expected_loss": counting and each.expected_share * counting,
                "interval": list(each.interval),
            }
            for each in choice.candidates
        ],
        "chosen": choice.place,
    }
    chosen = dataclasses.replace(models[choice.chosen.config], config=train, record=record)
    return chosen, choice


def models_to_choose_from(asked: Asked, manifest: DatasetManifest) -> dict[ModelConfig, Asked]:
    """The model asked for, or those of the ladder that what --set says is valid for."""
    from albert_tf.data.data_check import manifests_of
    from albert_tf.planning.budget import SHAPES, ladder_fields

    made_first, *others = manifests_of(asked.config, manifest)
    if asked.is_model_given:
        return {resolve_model(asked.model, asked.overrides, made_first): asked}
    changes = dict(map(parse_override, asked.overrides))
    longest = max(each.config.max_seq_length for each in (made_first, *others))
    found: dict[ModelConfig, Asked] = {}
    refused = None
    for layers, hidden in SHAPES:
        # What follows from a width that is set still follows from it.
        fields = ladder_fields(
            changes.get("num_hidden_layers", layers), changes.get("hidden_size", hidden)
        )
        fields["max_position_embeddings"] = max(512, longest)
        overrides = (*(f"{name}={value}" for name, value in fields.items()), *asked.overrides)
        try:
            model = resolve_model(NEAREST, overrides, made_first)
        except SettingError as error:
            refused = refused or error
        else:
            found.setdefault(model, dataclasses.replace(asked, model=NEAREST, overrides=overrides))
    if refused and not found:
        raise refused
    return found


def budget_lines(choice: "Choice", *, begins_anew: bool) -> Iterator[str]:
    """What was chosen; of a model that begins anew, what to expect and what would do better."""
    from albert_tf.planning.budget import MOST_EPOCHS, MUCH_LEFT

    chosen = choice.chosen
    if begins_anew and chosen.is_guess:
        shape = ", and so is the choice of shape" if choice.candidates[1:] else ""
        unknown = "run like it was measured" if chosen.is_timed else "step was timed"
        yield f"No {unknown}, so the expected loss is a guess{shape}."
    yield (
        f"chosen: {chosen.config.shape}, {chosen.steps:,} steps of "
        f"{choice.train.batch_size} sequences, learning rate "
        f"{choice.train.learning_rate:g}, {choice.train.precision}; "
        f"{chosen.tokens:,} tokens at {rounded(_rate(choice, chosen))} sequences/s."
    )
    training = chosen.steps * chosen.step_seconds
    if training < MUCH_LEFT * choice.seconds:
        yield (
            f"Of {duration(choice.seconds)} only {duration(training)} are left to train in: "
            "starting, choosing, compiling and evaluating take the rest. A longer --budget helps "
            "most; a machine that does nothing else or a smaller --model helps too."
        )
    if not begins_anew:
        return
    yield f"expected: masked-LM loss {_loss(choice, chosen)}."
    for name, place in (("smaller", choice.place - 1), ("larger", choice.place + 1)):
        if 0 <= place < len(choice.candidates):
            other = choice.candidates[place]
            yield (
                f"next {name}: {other.config.shape}, {other.steps:,} steps, "
                f"loss {_loss(choice, other)}."
            )
    epochs = chosen.tokens / choice.text
    if epochs > MOST_EPOCHS:
        yield (
            f"The text would be read {epochs:,.0f} times; what more than {MOST_EPOCHS} "
            "times are worth depends on the text, and more text would be worth more."
        )
    # vocab chose by all the text, part of which may be held out, and knew no tokens.
    suited, *near = (
        suited_vocab_size(int(choice.text * f), characters=choice.characters) for f in (1, 0.5, 2)
    )
    pieces = chosen.config.vocab_size
    if not any(1 / MUCH <= pieces / each <= MUCH for each in (suited, *near)):
        yield (
            f"The vocabulary has {pieces:,} pieces; about "
            f"{suited:,} suit a text of {choice.text:,} tokens better "
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


def budget_table(choice: "Choice") -> Table:
    """Every model considered, the one chosen with a mark."""
    return Table(
        columns=("", "sequences/s", "steps", "tokens", "expected loss", ""),
        rows=[
            (
                each.config.shape,
                rounded(_rate(choice, each)),
                each.steps,
                each.tokens,
                _loss(choice, each),
                "chosen" if place == choice.place else "",
            )
            for place, each in enumerate(choice.candidates)
        ],
    )


def _rate(choice: "Choice", candidate: "Candidate") -> float:
    return choice.train.batch_size / candidate.step_seconds


def _loss(choice: "Choice", candidate: "Candidate") -> str:
    """The expected loss with its interval, in nats where these are known."""
    middle = candidate.expected_share * (choice.counting or 1)
    low, high = (share * middle for share in candidate.interval)
    unit = "" if choice.counting else " of the loss of counting neighbours"
    if candidate.is_guess:
        return f"about {middle:.2g} ({low:.2g} to {high:.2g}){unit}"
    return f"{middle:.2f} ({low:.2f} to {high:.2f}){unit}"
