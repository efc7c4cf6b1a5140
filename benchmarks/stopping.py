"""Measure how soon a run begins and how soon a signal ends it, in each phase.

    python -m benchmarks.stopping --data DIR
    python -m benchmarks.stopping --data DIR --shapes base --phases compiling,stepping

A command is run as a person runs it. It sends itself SIGTERM where a phase begins a
micro-batch, a batch or a checkpoint, which is the worst moment of the phase. Three
shapes: `base` by the paper's recipe (4,096 rows as micro-batches of 8), `tiny` by the
same recipe, and `small`, two layers of 128 with 32 rows. For each phase a line of the
table: seconds from Enter to the signal and from the signal to the end, and those of the
last micro-batch that was computed. Phase `beginning` sends none: its seconds are those
from Enter to the first row trained on. The load is that of the machine when a line is
printed.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Of `pretrain`, the rows of a step.
PAPER = ("--recipe", "paper", "--micro-batch-size", "8")
SHAPES = {
    "base": ("--model", "base", *PAPER),
    "tiny": ("--model", "tiny", *PAPER),
    "small": (
        *("--model", "tiny", "--set", "num_hidden_layers=2", "--batch-size", "32"),
        *("--set", "hidden_size=128", "--set", "intermediate_size=512"),
    ),
}

# How often a phase is seen before the signal: the first time may compile.
PHASES = {
    "beginning": 0,
    "importing": 1,
    "compiling": 1,
    "stepping": 2,
    "evaluating": 1,
    "words": 1,
    "saving": 1,
    "budget": 2,
    "finetune": 2,
    "finetune evaluating": 1,
    "finetune finishing": 1,
    "evaluate": 1,
    "predict": 1,
}
ROWS = 400


def main() -> None:
    """Print the table."""
    arguments = parse_arguments()
    print("| shape | phase | Enter to it | signal to end | micro-batch | code | load |")
    print("|---|---|--:|--:|--:|--:|--:|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for shape in arguments.shapes:
            scratch = Path(folder, shape)
            scratch.mkdir()
            given = scratch / "rows.tsv"
            given.write_text(rows(), encoding="utf-8")
            if any(
                phase.startswith(("f", "evaluate", "p")) for phase in arguments.phases
            ):
                make_run(arguments.data, shape, scratch)
            for phase in arguments.phases:
                print(line(measured(arguments.data, shape, phase, scratch)), flush=True)


def parse_arguments() -> argparse.Namespace:
    """The command line."""

    def names(text: str) -> list[str]:
        return text.split(",")

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    parser.add_argument("--shapes", type=names, default=list(SHAPES))
    parser.add_argument("--phases", type=names, default=list(PHASES))
    return parser.parse_args()


def rows() -> str:
    """A task of two labels."""
    words = ("good", "fine", "bad", "dull")
    text = "It was {}, they said, and {} others of the company said so too."
    lines = (
        f"{text.format(words[n % 4], n)}\t{words[n % 4] in words[2:]}\n"
        for n in range(ROWS)
    )
    return "text\tlabel\n" + "".join(lines)


def make_run(data: Path, shape: str, scratch: Path) -> None:
    """A run of one little step, and a model that was fine-tuned from it."""
    few = ("--batch-size", "8", "--steps", "1", "--warmup-steps", "0", "--quiet")
    run(
        *("pretrain", "--data", str(data), *SHAPES[shape], "--eval-examples", "1"),
        *(*few, "--output", str(scratch / "run")),
    )
    run(
        *(*of_task(scratch), "--batch-size", "8", "--steps", "1", "--quiet"),
        *("--output", str(scratch / "tuned")),
    )


def run(*arguments: str) -> None:
    """Run a command to its end."""
    subprocess.run([*albert(), *arguments], check=True)


def albert() -> list[str]:
    """The program of this folder."""
    return [sys.executable, "-W", "ignore", "-c", "from cli.main import cli; cli()"]


def of_task(scratch: Path) -> tuple[str, ...]:
    """A fine-tuning, without its output."""
    train = str(scratch / "rows.tsv")
    return ("finetune", str(scratch / "run"), "--task", "classify", "--train", train)


def command_of(phase: str, data: Path, shape: str, scratch: Path) -> tuple[str, ...]:
    """The command that has a phase."""
    output = ("--output", str(scratch / phase))
    if phase.startswith("finetune"):
        return *of_task(scratch), "--steps", "2", "--eval-every", "1", *output
    if phase == "evaluate":
        return "evaluate", str(scratch / "run"), "--data", str(data)
    if phase == "predict":
        return "predict", str(scratch / "tuned"), "--input", str(scratch / "rows.tsv")
    pretrain = ("pretrain", "--data", str(data), *SHAPES[shape], *output)
    if phase == "budget":
        return *pretrain, "--budget", "2h", "--yes"
    if phase in ("saving", "words"):
        # A checkpoint, or an evaluation of a trained model, after few rows.
        few = ("--batch-size", "8", "--steps", "2", "--warmup-steps", "0")
        return *pretrain, *few, "--eval-every", "1", "--checkpoint-every", "1"
    return *pretrain, "--yes"


def measured(data: Path, shape: str, phase: str, scratch: Path) -> dict[str, Any]:
    """How a command ends in a phase."""
    seen = scratch / f"{phase}.events"
    question = {"phase": phase, "events": str(seen)}
    begun = time.time()
    process = subprocess.run(
        [
            *(sys.executable, "-W", "ignore", "-m", "benchmarks.stopping"),
            *("--worker", json.dumps(question)),
            *command_of(phase, data, shape, scratch),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    ended = time.time()
    events = [json.loads(text) for text in seen.read_text().splitlines()]
    times = {name: value for name, value in events if name != "micro-batch"}
    micro = [value for name, value in events if name == "micro-batch"]
    signalled = times.get("signal")
    if phase != "beginning" and signalled is None:
        sys.exit(f"{phase} of {shape} was not seen:\n{process.stderr}")
    return {
        "shape": shape,
        "phase": phase,
        "reached": (signalled or times["trained"]) - begun,
        "ended": ended - signalled if signalled else None,
        "micro": micro[-1] if micro else None,
        "code": process.returncode,
    }


def line(found: dict[str, Any]) -> str:
    """A line of the table."""

    def seconds(name: str) -> str:
        return "" if found[name] is None else f"{found[name]:.1f}"

    code = "" if found["phase"] == "beginning" else found["code"]
    return (
        f"| {found['shape']} | {found['phase']} | {seconds('reached')} | "
        f"{seconds('ended')} | {seconds('micro')} | {code} | {os.getloadavg()[0]:.1f} |"
    )


class Watch:
    """Sees phases of this process, and signals it in one of them.

    Args:
        phase: The one to signal in.
        events: The file that is told of what was seen, a JSON list a line.
    """

    def __init__(self, phase: str, events: str) -> None:
        self.phase, self._events = phase, events
        self._left = PHASES[phase]

    def note(self, name: str, value: float) -> None:
        """Write down what was seen."""
        with open(self._events, "a", encoding="utf-8") as file:
            file.write(json.dumps([name, value]) + "\n")

    def see(self, phase: str) -> None:
        """Be in a phase, once more."""
        if phase != self.phase:
            return
        self._left -= 1
        if self._left == 0:
            self.note("signal", time.time())
            os.kill(os.getpid(), signal.SIGTERM)

    def watched(self, function: Callable[..., Any], phase: str) -> Callable[..., Any]:
        """A function that is a phase."""

        def call(*arguments: Any, **more: Any) -> Any:
            self.see(phase)
            return function(*arguments, **more)

        return call


def watch(seen: Watch) -> None:
    """Have the functions that the phases consist of seen."""
    if seen.phase == "importing":
        signal.signal(signal.SIGALRM, lambda *_: seen.see("importing"))
        signal.alarm(2)
        return
    # In this order: what is replaced here is imported by name there.
    watch_measuring(seen)
    watch_training(seen)


def watch_measuring(seen: Watch) -> None:
    """Have what is compiled to measure a model seen, and the saving of checkpoints."""
    from albert_tf.evaluation import held_out
    from albert_tf.runs import checkpoints

    phases = {
        "_measure": "evaluate" if seen.phase == "evaluate" else "evaluating",
        "_losses": "words",
        "_logits": "predict" if seen.phase == "predict" else "finetune evaluating",
    }
    compiled = held_out.compiled

    def watched_when_compiled(function: Any, model: Any) -> Any:
        call = compiled(function, model)
        return seen.watched(call, phases.get(function.__name__, ""))

    held_out.compiled = watched_when_compiled
    checkpoints.save_checkpoint = seen.watched(checkpoints.save_checkpoint, "saving")


def watch_training(seen: Watch) -> None:
    """Have micro-batches seen, and the end of a fine-tuning."""
    from albert_tf.finetuning import finetune
    from albert_tf.training import tensorflow_steps

    finetune.finish = seen.watched(finetune.finish, "finetune finishing")
    steps = tensorflow_steps.TensorFlowSteps
    accumulate = steps.accumulate
    phases = {
        "accumulation_seconds": "compiling",
        "_step": "finetune" if seen.phase == "finetune" else "stepping",
        "_timed": "budget",
    }

    def accumulate_watched(self: Any, *arguments: Any, **more: Any) -> None:
        caller = sys._getframe(1).f_code.co_name
        seen.see(phases[caller])
        start = time.time()
        accumulate(self, *arguments, **more)
        # Waits for the result, as the step does at its end.
        self.sums()
        seen.note("micro-batch", time.time() - start)
        if caller == "_step" and seen.phase == "beginning":
            seen.note("trained", start)
            os._exit(0)

    steps.accumulate = accumulate_watched


if __name__ == "__main__":
    if "--worker" in sys.argv:
        place = sys.argv.index("--worker")
        asked = json.loads(sys.argv[place + 1])
        sys.argv = ["albert", *sys.argv[place + 2 :]]
        from cli.main import cli
        from cli.support.console import silent_stderr

        with silent_stderr():
            watch(Watch(**asked))
        cli()
    else:
        main()
