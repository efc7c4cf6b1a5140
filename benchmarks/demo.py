"""The whole way on a small text: `python benchmarks/demo.py FOLDER`.

Makes a vocabulary, data and a model from the language reference inside Python, then
says what the model has learned. The same commands work on any text.
"""

import json
import math
import os
import shlex
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
from demo_corpus import write_corpus

VOCAB_SIZE = 2000
STEPS = 1000
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


def entropy(labels: Counter[int]) -> float:
    """The entropy of pieces drawn by their frequency, in nats.

    >>> round(entropy(Counter({1: 5, 2: 5})), 3)
    0.693
    """
    total = sum(labels.values())
    return -sum(n / total * math.log(n / total) for n in labels.values())


def interval(share: float, count: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share of `count` trials.

    >>> interval(0.5, 100)
    (0.404, 0.596)
    """
    z = 1.96
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    spread = share * (1 - share) / count + z * z / (4 * count * count)
    half = z * math.sqrt(spread) / (1 + z * z / count)
    return round(middle - half, 3), round(middle + half, 3)


def masked_labels(data: Path, split: str) -> Counter[int]:
    """How often each piece stands at a masked place of the first copy of a split."""
    from albert_tf.input_pipeline import Records, parse_batch
    from schemas.manifest import read_manifest

    manifest = read_manifest(data)
    records = Records(data, manifest)
    counts: Counter[int] = Counter()
    for shard in manifest.shard_files(split, 0):
        for batch in records.of_shard(shard.name).batch(256):
            parsed = parse_batch(batch, manifest.config, allow_empty=False)
            real = parsed["masked_lm_weights"].numpy() > 0
            counts.update(parsed["masked_lm_ids"].numpy()[real].tolist())
    return counts


def mean_training_loss(run_folder: Path) -> float:
    """The masked-LM loss of the last training steps."""
    lines = (run_folder / "metrics.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    losses = [row["mlm_loss"] for row in rows if row["split"] == "train"]
    return float(np.mean(losses[-LAST_STEPS:]))


def filled_masks(run_folder: Path, data: Path, *, rows: int = 3) -> list[str]:
    """Held-out text with what the model puts at some masked places."""
    import sentencepiece

    from albert_tf.evaluation import load_weights
    from albert_tf.input_pipeline import Records, evaluation_batches
    from albert_tf.pretrainer import AlbertPretrainer
    from schemas.config import ModelConfig, config_from_dict
    from schemas.json_file import read_json
    from schemas.manifest import read_manifest
    from schemas.special_tokens import MASK_ID

    model = AlbertPretrainer(
        config_from_dict(ModelConfig, read_json(run_folder / "model.json"))
    )
    load_weights(model, run_folder, print)
    pieces = sentencepiece.SentencePieceProcessor(
        model_file=str(run_folder / "spiece.model")
    )
    records = Records(data, read_manifest(data))
    batch = next(iter(evaluation_batches(records, batch_size=rows, examples=rows)))
    guesses = np.argmax(model(batch)[0], axis=-1).reshape(rows, -1)
    lines = []
    for row in range(rows):
        ids = batch["input_ids"].numpy()[row]
        places = batch["masked_lm_positions"].numpy()[row]
        masked = [p for p in places if ids[p] == MASK_ID]
        place = masked[len(masked) // 2]
        number = places.tolist().index(place)
        truth = pieces.IdToPiece(int(batch["masked_lm_ids"].numpy()[row][number]))
        guess = pieces.IdToPiece(int(guesses[row][number]))
        around = ids[max(1, place - 12) : place + 12].tolist()
        shown = [pieces.IdToPiece(i) if i != MASK_ID else " [MASK]" for i in around]
        shown[min(12, place - 1)] = f" [{guess.lstrip('▁')}?]"
        text = "".join(shown).replace("▁", " ").replace("[SEP]", " [SEP] ")
        lines.append(f"  ...{text}...   (was: {truth.lstrip('▁')})")
    return lines


def comparison(name: str, loss: float, unigram: float) -> str:
    """A loss beside what guessing by frequency alone would give."""
    more = unigram - loss
    return f"  {name}  {loss:9.2f} nats  {unigram:9.2f} nats ({more:.2f} more)"


def report(run_folder: Path, data: Path) -> str:
    """What the model has learned."""
    from albert_tf.evaluation import evaluate

    result = evaluate(run_folder, data=data, quiet=True)
    training = mean_training_loss(run_folder)
    train_entropy = entropy(masked_labels(data, "train"))
    eval_entropy = entropy(masked_labels(data, "eval"))
    accuracy, pairs = result["sentence_accuracy"], result["sentence_count"]
    low, high = interval(accuracy, pairs)
    return "\n".join(
        [
            "",
            "What was learned",
            "            masked-LM loss   unigram entropy of the same pieces",
            comparison("training", training, train_entropy),
            comparison("held out", result["mlm_loss"], eval_entropy),
            f"  held-out masked pieces guessed right: {result['mlm_accuracy']:.1%}",
            f"  sentence order right: {accuracy:.1%} of {pairs} held-out pairs "
            f"(95 % interval {low:.1%} to {high:.1%})",
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
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
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
        "--learning-rate 0.003"
    )
    print(report(run_folder, data))
    print(f"\nThe demo took {time.monotonic() - start:.0f} s; it is all in {folder}/.")


if __name__ == "__main__":
    main()
