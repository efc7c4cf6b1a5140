"""The whole way on a small text: `python -m benchmarks.demo FOLDER`.

Makes a vocabulary, data and a model from the language reference inside Python, then
says what the model has learned. The same commands work on any text.
"""

import itertools
import math
import shlex
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from albert_tf.runs.confidence import with_interval
from benchmarks.demo_corpus import write_corpus
from cli.support.console import silent_stderr
from schemas.layout import EVAL, TRAIN
from schemas.special_tokens import MASK, MASK_ID, SPACE

VOCAB_SIZE = 2000
STEPS = 1300
BATCH_SIZE = 16
# The training loss is averaged over so many last steps.
LAST_STEPS = 50


def run(command: str) -> None:
    """Show a command and run it; its failure ends the demo."""
    print(f"\n$ {command}", flush=True)
    albert = Path(sys.executable).with_name("albert")
    done = subprocess.run([albert, *shlex.split(command)[1:]], check=False)
    if done.returncode:
        sys.exit(done.returncode)


def guessing_loss(labels: Counter[int], known: Counter[int]) -> float:
    """The loss in nats of guessing pieces by how often they were seen.

    Where both are the same this is their unigram entropy, but for half a sighting that
    every piece is given so that none is impossible.

    >>> round(guessing_loss(Counter({1: 5, 2: 5}), Counter({1: 50, 2: 50})), 3)
    0.693
    """
    total = sum(known.values()) + 0.5 * len(known | labels)
    losses = (n * math.log((known[i] + 0.5) / total) for i, n in labels.items())
    return -sum(losses) / sum(labels.values())


def masked_labels(data: Path, split: str) -> Counter[int]:
    """How often each piece stands at a masked place, over all copies of a split."""
    from pipeline.dataset.verification import read_examples
    from schemas.manifest import read_manifest

    manifest = read_manifest(data)
    counts: Counter[int] = Counter()
    for copy in range(manifest.num_copies(split)):
        for features in read_examples(data, manifest, split=split, copy=copy):
            counts.update(features["masked_lm_ids"])
    return counts


def mean_training_loss(run_folder: Path) -> float:
    """The masked-LM loss of the last training steps."""
    from albert_tf.runs.metrics import read_metrics

    rows = read_metrics(run_folder)
    losses = [row["mlm_loss"] for row in rows if row["split"] == TRAIN]
    return float(np.mean(losses[-LAST_STEPS:]))


def filled_masks(run_folder: Path, data: Path, *, rows: int = 3) -> list[str]:
    """Held-out text with what the model puts at some masked places."""
    with silent_stderr():
        from albert_tf.inference.predictions import likeliest, mask_probabilities
        from albert_tf.inference.trained_model import load_trained_model
    from pipeline.dataset.verification import read_examples
    from pipeline.vocabulary.tokenizer import load_tokenizer, read_model
    from schemas.manifest import read_manifest

    model = load_trained_model(run_folder)
    tokenizer = load_tokenizer(read_model(run_folder))
    records = read_examples(data, read_manifest(data), split=EVAL, copy=0)
    lines = []
    for features in itertools.islice(records, rows):
        ids = features["input_ids"]
        truths = zip(
            features["masked_lm_positions"], features["masked_lm_ids"], strict=True
        )
        masks = [(place, truth) for place, truth in truths if ids[place] == MASK_ID]
        number = len(masks) // 2
        place, truth = masks[number]
        best = likeliest(mask_probabilities(model, ids)[number], top=3)
        guesses = ", ".join(
            f"{tokenizer.piece(i).strip(SPACE) or 'a space'} {p:.0%}" for i, p in best
        )
        lines.append(f"  ... {around(ids, place, tokenizer.piece)} ...")
        was = tokenizer.piece(truth).strip(SPACE)
        lines.append(f"      [____] was {was}; guesses: {guesses}")
    return lines


def around(ids: list[int], place: int, piece: Callable[[int], str]) -> str:
    """The text near a masked place, which is shown as a gap."""
    shown = [
        "▁[____]" if p == place else SPACE + MASK if i == MASK_ID else piece(i)
        for p, i in enumerate(ids)
    ]
    text = "".join(shown[max(1, place - 12) : place + 12]).replace("[SEP]", "▁[SEP]")
    return text.replace(SPACE, " ").strip()


def comparison(name: str, loss: float, guessing: float) -> str:
    """A loss beside what guessing by frequency alone gives on the same pieces."""
    better = "better" if loss < guessing else "worse"
    margin = abs(guessing - loss)
    return f"  {name}  {loss:9.2f} nats  {guessing:9.2f} nats: {margin:.2f} {better}"


def report(run_folder: Path, data: Path) -> str:
    """What the model has learned."""
    with silent_stderr():
        from albert_tf.evaluation.run_evaluation import evaluate

    result = evaluate(run_folder, data=data)
    training = mean_training_loss(run_folder)
    seen, held_out = masked_labels(data, TRAIN), masked_labels(data, EVAL)
    accuracy, pairs = result["sentence_accuracy"], result["sentence_count"]
    return "\n".join(
        [
            "",
            "What was learned",
            "            masked-LM loss   guessing by frequency (unigram entropy)",
            comparison("training", training, guessing_loss(seen, seen)),
            comparison("held out", result["mlm_loss"], guessing_loss(held_out, seen)),
            f"  held-out masked pieces guessed right: {result['mlm_accuracy']:.1%}",
            f"  sentence order right: {with_interval(accuracy, pairs)} of {pairs} "
            "held-out pairs, with a 95 % interval",
            "",
            "Some masks of held-out text, filled in",
            *filled_masks(run_folder, data),
            "",
            "Next, on your own text (a folder of plain text, or a Wikipedia dump):",
            "  albert vocab     --text my-text/ --output vocab",
            "  albert make-data --text my-text/ --vocab vocab --output data",
            "  albert pretrain  --data data --output run --model base "
            "--batch-size 256 --scale-lr-to-batch",
        ]
    )


def main() -> None:
    """Run the demo in the folder given."""
    folder = Path(sys.argv[1])
    start = time.monotonic()
    dump, books = write_corpus(folder / "text")
    inputs = f"--wikipedia {dump} --books {books}"
    vocab, data, run_folder = folder / "vocab", folder / "data", folder / "run"
    run(f"albert vocab {inputs} --vocab-size {VOCAB_SIZE} --output {vocab}")
    run(
        f"albert make-data {inputs} --vocab {vocab} --max-seq-length 64 "
        f"--eval-fraction 0.2 --output {data}"
    )
    run(
        f"albert pretrain --data {data} --output {run_folder} --model tiny "
        f"--batch-size {BATCH_SIZE} --steps {STEPS} --warmup-steps 100 "
        "--learning-rate 0.003 --eval-every 400"
    )
    print(report(run_folder, data))
    print(f"\nThe demo took {time.monotonic() - start:.0f} s; it is all in {folder}/.")


if __name__ == "__main__":
    main()
