"""The whole way on a small text: `python -m benchmarks.demo FOLDER`.

Makes a vocabulary, data and a model from the language reference inside Python, measures
the model against counting and asks it. All of it is commands that work on any text.
"""

import shlex
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.demo_corpus import write_corpus

VOCAB_SIZE = 2000

# What a text of 80,000 tokens can teach in minutes.
SMALLER = (
    "--set num_hidden_layers=2 --set hidden_size=128 "
    "--set num_attention_heads=2 --set intermediate_size=512 "
    "--set hidden_dropout_prob=0.1"
)

# What the model is asked: sentences as the reference has them, and none of its own.
QUESTIONS = (
    "If the [MASK] is not found, an exception is raised.",
    "A function definition is an executable [MASK].",
    "The value of the [MASK] is the result of the function.",
    "The list of arguments must not be [MASK].",
    "See section The standard [MASK] hierarchy.",
)

NEXT = """
Next, on your own text (a folder of plain text, or a Wikipedia dump):
  albert vocab     --text my-text/ --vocab-size 8000 --output vocab
  albert make-data --text my-text/ --vocab vocab --output data --max-seq-length 128 \\
                   --examples on-the-fly --eval-fraction 0.05
  albert pretrain  --data data --output run --budget 1h"""


def run(command: str) -> None:
    """Show a command and run it; its failure ends the demo."""
    print(f"\n$ {command}", flush=True)
    albert = Path(sys.executable).with_name("albert")
    done = subprocess.run([albert, *shlex.split(command)[1:]], check=False)
    if done.returncode:
        sys.exit(done.returncode)


def main() -> None:
    """Run the demo in the folder given."""
    folder = Path(sys.argv[1])
    start = time.monotonic()
    dump, books = write_corpus(folder / "text")
    inputs = f"--wikipedia {dump} --books {books}"
    vocab, data, trained = folder / "vocab", folder / "data", folder / "run"
    run(f"albert vocab {inputs} --vocab-size {VOCAB_SIZE} --output {vocab}")
    run(
        f"albert make-data {inputs} --vocab {vocab} --max-seq-length 64 "
        f"--eval-fraction 0.2 --examples on-the-fly --output {data}"
    )
    run(
        f"albert pretrain --data {data} --output {trained} --model tiny {SMALLER} "
        "--recipe small-budget --batch-size 16 --learning-rate 0.002 --steps 2200 "
        "--eval-every 500"
    )
    run(f"albert evaluate {trained} --data {data}")
    questions = " ".join(map(shlex.quote, QUESTIONS))
    run(f"albert fill-mask {trained} {questions} --top 3")
    print(NEXT)
    print(f"\nThe demo took {time.monotonic() - start:.0f} s; it is all in {folder}/.")


if __name__ == "__main__":
    main()
