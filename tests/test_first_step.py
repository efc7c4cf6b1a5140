"""The benchmark of the way from raw text to the first optimizer step."""

import json
import subprocess
import sys

import pytest

from benchmarks.job import run_watched

SAYS_IT_BEFORE_A_MINUTE = "print('made it', flush=True); import time; time.sleep(60)"


def test_a_program_is_watched_up_to_the_line_that_it_is_to_say():
    run = run_watched([sys.executable, "-c", SAYS_IT_BEFORE_A_MINUTE], until="made it")
    assert 0 < run.seconds < 50


def test_a_program_that_ends_without_that_line_is_told_with_what_it_said():
    command = [sys.executable, "-c", "print('no'); print('never')"]
    with pytest.raises(SystemExit, match=r"failed:\nno\nnever\n"):
        run_watched(command, until="made it")


@pytest.mark.slow
def test_every_way_comes_to_its_first_step(small):
    pytest.importorskip("transformers")
    program = [sys.executable, "-m", "benchmarks.first_step", "--length", "32"]
    inputs = ["--text", str(small / "text"), "--vocab", str(small / "vocab")]
    done = subprocess.run(program + inputs, capture_output=True, text=True, check=True)
    figures = json.loads(done.stdout.splitlines()[-1])
    assert list(figures) == ["on-the-fly", "stored", "tokens", "words"]
    assert all(each["seconds"] > 0 < each["memory, MB"] for each in figures.values())
    assert 0 < figures["on-the-fly"]["disk, MB"] < figures["stored"]["disk, MB"]
