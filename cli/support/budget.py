"""How long a run takes and what --budget chooses, in words."""

import math
import os
import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.config import ModelConfig, TrainConfig
from schemas.manifest import DatasetManifest
from schemas.readable import aligned, rounded

if TYPE_CHECKING:
    from albert_tf.planning.budget import Candidate
    from albert_tf.training.budget import BudgetChoice

# A run of more than this is not begun without a word.
LONG_SECONDS = 7 * 86_400

# What training makes of the rate of matrix products on a CPU.
SHARE_OF_PRODUCTS = 0.6

# What Linux shows of GPUs and TPUs.
ACCELERATORS = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/accel0", "/dev/vfio/0")

# A vocabulary this many times larger than suits the text is worth a remark.
MUCH_LARGER = 1.5

# Tokens that the published English ALBERTs were trained on: 125,000 steps of 4,096
# sequences of up to 512.
PUBLISHED_TOKENS = 125_000 * 4096 * 512


def next_pretrain(data: Path | str, manifest: DatasetManifest) -> Iterator[str]:
    """What to type once there is a data set, quoted for the shell.

    A machine on which ALBERT's own recipe would take more than a week is told so, and
    gets a budget; one with an accelerator is not measured.
    """
    command = f"albert pretrain --data {shlex.quote(str(data))} --output run"
    if not has_accelerator():
        seconds = bare_seconds(manifest, rate=product_rate())
        if seconds > LONG_SECONDS:
            yield (
                "Without --budget the next command trains ALBERT base as its authors "
                f"did, about {days(seconds)} on this machine."
            )
            command += " --budget 1h"
    yield f"next: {command}"


def days(seconds: float) -> str:
    """A long time, as it is known: to about two digits.

    >>> days(899_078_400)
    '10,000 days'
    """
    number = float(f"{seconds / 86_400:.2g}")
    return f"{number:,.0f} days"


def bare_seconds(manifest: DatasetManifest, *, rate: float) -> float:
    """About what `albert pretrain` takes on a data set without any other flag.

    Args:
        rate: Of matrix products on this machine, in FLOP/s.
    """
    from albert_tf.planning.cost import predictions_of, training_flops

    train, length = TrainConfig(), round(manifest.statistics["mean_length"])
    of_example = training_flops(
        ModelConfig(vocab_size=manifest.vocabulary["size"]),
        length=length,
        predictions=predictions_of(manifest.config, length),
    )
    return train.steps * train.batch_size * of_example / (SHARE_OF_PRODUCTS * rate)


def product_rate() -> float:
    """The rate of matrix products on the processor, in FLOP/s, in a tenth of a second.

    `timing.matrix_rate` needs TensorFlow, which takes seconds to load.
    """
    # Only here: a plan without a budget needs no NumPy.
    import numpy as np

    rows, kernel = np.ones((512, 512), "f4"), np.ones((512, 512), "f4")
    seconds = []
    for _ in range(8):
        start = time.perf_counter()
        rows @ kernel
        seconds.append(time.perf_counter() - start)
    return float(2 * 512**3 / min(seconds))


def has_accelerator() -> bool:
    """Whether the machine has a GPU or TPU."""
    return any(map(os.path.exists, ACCELERATORS))


def budget_lines(choice: "BudgetChoice", *, begins_anew: bool) -> Iterator[str]:
    """What was chosen and, of a model that begins anew, what to expect of it."""
    chosen = choice.chosen
    if begins_anew and not chosen.is_fitted:
        size = "size" if chosen.is_outside else "few steps"
        yield (
            f"No run of this {size} was measured, so the expected loss is a guess, and "
            "so is the choice of shape."
        )
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
    for place in (choice.place - 1, choice.place + 1):
        if 0 <= place < len(choice.candidates):
            other = choice.candidates[place]
            yield (
                f"beside it: {other.config.shape}, {other.steps:,} steps, "
                f"loss {_loss(choice, other)}."
            )
    least = min(each.loss_share for each in choice.candidates[: choice.place + 1])
    if least < chosen.loss_share <= least * AS_GOOD:
        yield (
            f"Losses within {AS_GOOD - 1:.0%} of the lowest count as equal; the "
            "largest of these models is chosen, because it goes on learning longest."
        )
    yield from _advice(choice)


def _advice(choice: "BudgetChoice") -> Iterator[str]:
    """What would do better: more text, a smaller vocabulary, a published model."""
    from albert_tf.planning.budget import BEYOND, MOST_EPOCHS, suited_vocabulary

    chosen = choice.chosen
    epochs = chosen.tokens / choice.text_tokens
    if epochs > BEYOND * MOST_EPOCHS:
        yield (
            f"The text would be read {epochs:,.0f} times. No run that was measured "
            f"read its text more than {MOST_EPOCHS} times, so the loss may be higher: "
            "give more text, or less time."
        )
    suited, pieces = suited_vocabulary(choice.text_tokens), chosen.config.vocab_size
    if pieces > MUCH_LARGER * suited:
        yield (
            f"The vocabulary has {pieces:,} pieces; about {suited:,} suit a text of "
            f"{choice.text_tokens:,} tokens better (albert vocab --vocab-size)."
        )
    times = PUBLISHED_TOKENS / chosen.tokens
    if times > 2:
        power = 10 ** int(math.log10(times))
        yield (
            "ALBERTs that others published have seen over "
            f"{int(times / power) * power:,} times as much text: if there is one for "
            "this language and vocabulary, albert import and --init-from will beat "
            "this."
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
    middle = candidate.loss_share * (choice.counting or 1)
    low, high = (share * middle for share in candidate.interval)
    unit = "" if choice.counting else " of the loss of counting neighbours"
    if candidate.is_fitted:
        return f"{middle:.2f} ({low:.2f} to {high:.2f}){unit}"
    return f"about {middle:.2g} ({low:.2g} to {high:.2g}){unit}"
