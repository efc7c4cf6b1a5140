"""The command line: its settings from files, what it finishes, what it says."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from tests.commands import attempt, make_data
from tests.exported_runs import SMALL_RUN, write_run
from tests.processes import albert, run_python


def test_overwrite_replaces_what_the_command_wrote_and_quiet_says_nothing(small, tmp_path):
    shutil.copytree(small / "data", tmp_path / "d")
    flags = ("--seed", 7, "--overwrite", "--quiet")
    assert make_data(small, *flags, output=tmp_path / "d") == ""
    assert json.loads((tmp_path / "d/manifest.json").read_bytes())["config"]["seed"] == 7


def test_an_unexpected_error_is_one_sentence_too(small, tmp_path, monkeypatch):
    import pipeline.reading.inputs

    def fail(*_, **__):
        raise ZeroDivisionError("seven by nothing")

    monkeypatch.setattr(pipeline.reading.inputs, "find_inputs", fail)
    said = attempt("vocab", "--text", small / "text", "--output", tmp_path / "v")
    assert said == (
        1,
        "Error: Unexpected ZeroDivisionError: seven by nothing (--debug shows where it "
        "happened).\n",
    )


def test_ctrl_c_ends_a_job_with_130_and_no_data_set(small, tmp_path):
    program = (
        "import os, signal, sys\n"
        "import pipeline.job.beam as beam\n"
        "beam.run_here = lambda *_, **__: os.kill(os.getpid(), signal.SIGINT)\n"
        "from cli.main import cli\n"
        "cli(sys.argv[1:])\n"
    )
    given = ("--text", small / "text", "--vocab", small / "vocab", "--output", tmp_path / "d")
    done = run_python(program, "make-data", *given)
    assert done.returncode == 130
    assert done.stderr.splitlines()[-1].startswith("Error: Interrupted")
    assert not (tmp_path / "d/manifest.json").exists()


# How native code begins a line of its own, with level, time and file.
NATIVE_LOG = re.compile(r"^(?:\d{4}-\d\d-\d\d |[IWEF]\d{4} |WARNING: All log)", re.M)


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("evaluate", "run", "--data", "data", "--eval-examples", "2"),
        ("analyze", "layers", "run", "--data", "data"),
        ("fill-mask", "run", "The [MASK] is here."),
        ("export", "run", "--to", "saved-model", "--output", "saved"),
        (
            *("pretrain", "--data", "data", "--output", "more", "--init-from", "run"),
            *("--steps", "1", "--batch-size", "2"),
        ),
    ],
    ids=lambda arguments: arguments[0],
)
def test_what_tensorflow_logs_as_it_loads_reaches_nobody(arguments, small, tmp_path, monkeypatch):
    # A level that is set is kept, and JAX, once a test imports it, sets one.
    monkeypatch.delenv("TF_CPP_MIN_LOG_LEVEL", raising=False)
    write_run(tmp_path / "run", SMALL_RUN, small)
    (tmp_path / "data").symlink_to(small / "data")
    environment = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    done = albert(*arguments, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    assert NATIVE_LOG.findall(done.stderr) == []
