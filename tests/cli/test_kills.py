"""A command that is killed at any moment goes on where it stood, and leaves nothing.

`ALBERT_KILLS=20` kills each command twenty times instead of five.
"""

import hashlib
import json
import multiprocessing
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest

from cli.main import cli
from schemas.files import TEMPORARY, remove_quietly
from tests.commands import LITTLE_MODEL
from tests.processes import left_in, session_of, wait_until

KILLS = int(os.environ.get("ALBERT_KILLS", "5"))

# Without the modules that start threads.
IMPORTED = (
    *("cli.main", "pipeline.job.beam", "pipeline.job.make_data", "pipeline.vocabulary.writing"),
    *("albert_tf.training.pretraining", "albert_tf.finetuning.finetune"),
    *("albert_tf.convert.huggingface", "albert_tf.convert.reading"),
)

MAKE_DATA = (
    "make-data --text text --vocab vocab --max-seq-length 32 --num-shards 6 --eval-fraction 0.15"
)
LITTLE = " ".join(map(str, LITTLE_MODEL))

COMMANDS = {
    "vocab": "vocab --text text --vocab-size 800 --workers 2",
    "make-data, stored, 2 workers": f"{MAKE_DATA} --dupe-factor 4 --workers 2",
    "make-data, on the fly, 1 worker": f"{MAKE_DATA} --examples on-the-fly --workers 1",
    "pretrain": f"pretrain --data data {LITTLE} --set hidden_dropout_prob=0.1 --steps 24 "
    "--batch-size 8 --warmup-steps 4 --eval-examples 16 --eval-every 10 --checkpoint-every 4",
    "finetune": "finetune run --task classify --train rows.tsv --steps 60 --batch-size 8 "
    "--max-seq-length 32 --dropout 0.1 --checkpoint-every 4 --eval-every 10",
    "export": "export run --to hf",
    "export over an older one": "export run --to hf --overwrite",
    "export a SavedModel": "export run --to saved-model",
    "export a graph": "export tuned --to onnx",
    "export vectors": "export run --to sentence-transformers",
    "import": "import hf",
    "predict": "predict tuned --input rows.tsv",
    "embed": "embed run rows.tsv",
    "report": "report data run",
}

# Of commands that write a file, or whose folder takes its place when it is whole.
AT_ONCE = {"predict": "out.csv", "embed": "out.npy", "report": "out.html", "export": "out"}

# What is written anew each time: when and where a run was made, and how fast it was.
OF_THE_CLOCK = {*("environment", "sha256", "seconds", "window_seconds", "sequences_per_second")}
# TensorFlow's: what is only to be looked at, and a number of its own for each export.
OF_TENSORFLOW = {"tensorboard", "fingerprint.pb"}


@pytest.fixture(scope="module")
def inputs(models, tmp_path_factory):
    folder = tmp_path_factory.mktemp("kills") / "inputs"
    shutil.copytree(models, folder)
    words = ("good", "fine", "great", "bad", "poor", "dull")
    rows = "".join(f"It was {word} {n}\t{word in words[3:]}\n" for n in range(20) for word in words)
    (folder / "rows.tsv").write_text(f"text\tlabel\n{rows}", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def processes():
    """Makes processes which have imported what the commands need: a start is short."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(IMPORTED)
    # The first one waits for all that is imported, which is not the commands' time.
    first = context.Process(target=os.getpid)
    first.start()
    first.join()
    return context


def command(arguments, folder, scratch, said):
    """Be a command of albert, as the installed program is."""
    os.setsid()
    os.chdir(folder)
    os.environ["TMPDIR"] = str(scratch)
    for stream, path in ((0, os.devnull), (1, os.devnull), (2, said)):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), stream)
    sys.argv = ["albert", *map(str, arguments)]
    cli()


def contents(folder):
    """The files of a result, without times."""
    return {
        str(path.relative_to(folder)): _content(path)
        for path in (folder, *sorted(folder.rglob("*")))
        if path.is_file() and not OF_TENSORFLOW & {path.name, path.parent.name}
    }


def _content(path):
    if path.suffix not in (".json", ".jsonl"):
        return hashlib.sha256(path.read_bytes()).hexdigest()
    text = path.read_text("utf-8")
    lines = [text] if path.suffix == ".json" else text.splitlines()
    return [_timeless(json.loads(line)) for line in lines]


def _timeless(value):
    if isinstance(value, dict):
        return {k: _timeless(v) for k, v in value.items() if k not in OF_THE_CLOCK}
    return value


class Place:
    """Where a command is run again and again."""

    def __init__(self, processes, arguments, *, inputs, folder):
        self._processes, self._inputs = processes, inputs
        self.scratch, self.said = folder / "scratch", folder / "said"
        self.scratch.mkdir()
        self.output = folder / "place" / AT_ONCE.get(arguments[0], "out")
        self.output.parent.mkdir()
        self._arguments = (*arguments, "--output", self.output)

    def start(self):
        self.said.unlink(missing_ok=True)
        process = self._processes.Process(
            target=command, args=(self._arguments, self._inputs, self.scratch, self.said)
        )
        process.start()
        return process

    def finish(self):
        """Run to the end; the seconds until anything was written, and of all."""
        begun, first, process = time.monotonic(), None, self.start()
        while process.is_alive():
            if first is None and (self.output.exists() or any(self.scratch.iterdir())):
                first = time.monotonic() - begun
            time.sleep(0.01)
        process.join()
        assert process.exitcode == 0, self.said.read_text()
        whole = time.monotonic() - begun
        # An export takes its place when it is whole, with which the command may end.
        return (whole if first is None else first), whole

    def kill(self, *, after):
        """Run, and kill after some seconds; whether that was before its end."""
        process = self.start()
        process.join(after)
        process.kill()
        process.join()
        assert process.exitcode in (0, -signal.SIGKILL), self.said.read_text()
        wait_until(lambda: not session_of(process.pid))
        return process.exitcode != 0

    def check_finished(self, expected):
        """Finish, with the expected files and nothing else."""
        self.finish()
        assert contents(self.output) == expected
        assert left_in(self.scratch) == []
        assert list(self.output.parent.iterdir()) == [self.output]
        assert not [path for path in self.output.rglob("*") if TEMPORARY in path.name]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("name", COMMANDS)
def test_a_killed_command_loses_nothing_and_leaves_nothing(processes, inputs, tmp_path, name):
    arguments = COMMANDS[name].split()
    place = Place(processes, arguments, inputs=inputs, folder=tmp_path)
    first, whole = place.finish()
    expected = contents(place.output)
    is_removed = "--overwrite" not in arguments
    if is_removed:
        remove_quietly(place.output)
    moments, kills = random.Random(name), 0
    while kills < KILLS:
        is_killed = place.kill(after=moments.uniform(0.5 * first, whole))
        kills += is_killed
        if arguments[0] in AT_ONCE and place.output.exists():
            assert contents(place.output) == expected
        if not is_killed or moments.random() < 0.3:
            place.check_finished(expected)
            if is_removed:
                remove_quietly(place.output)
    place.check_finished(expected)
