"""The benchmark of a step on a GPU, where there is none."""

import json
import subprocess
import sys

import pytest

from benchmarks.gpu_step import FRAMEWORKS, measured, table

QUESTION = {
    "model": "tiny",
    "length": 32,
    "predictions": 5,
    "precision": "float32",
    "rows": 2,
}


def test_a_table_has_a_row_for_what_was_measured_and_a_sentence_for_what_was_not():
    def answer(accumulate, apply, gigabytes):
        seconds = {"accumulate": accumulate, "apply": apply}
        return seconds | {"peak_bytes": gigabytes * 10**9}

    result = {
        "model": "base",
        "length": 512,
        "predictions": 77,
        "precision": "bfloat16",
        "rows": 128,
        "device": "NVIDIA H200",
        "rates": [6e14, 7e14],
        "steps": {
            "jax": [
                answer(0.2, 0.01, 50),
                answer(0.4, 0.02, 51),
                answer(0.19, 0.01, 50),
            ]
        },
        "skipped": {"hugging-face": "No module named 'torch'."},
    }
    assert table(result) == (
        "base, 512 tokens, bfloat16, micro-batch of 128 on NVIDIA H200, matrix "
        "products 700 TFLOP/s\n"
        "                 step s  update s    seq/s    memory   MFU\n"
        "jax              0.2100    0.0100    609.5     51 GB   25%\n"
        "hugging-face: left out, No module named 'torch'."
    )


def test_where_nothing_is_measured_a_sentence_says_why():
    answer = measured(QUESTION | {"framework": "tensorflow", "on_gpu": True})
    why = "tensorflow sees no GPU here; --small tries the processor."
    assert answer == {"skipped": why}
    result = QUESTION | {"rates": [], "steps": {}, "skipped": {"tensorflow": why}}
    assert table(result) == f"tiny, 32 tokens, float32\ntensorflow: left out, {why}"


@pytest.mark.slow
def test_all_of_it_runs_on_a_processor():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.gpu_step", "--small"],
        check=True,
        capture_output=True,
        text=True,
    )
    (result,) = json.loads(done.stdout.splitlines()[-1])
    assert {*result["steps"], *result["skipped"]} == set(FRAMEWORKS)
    assert "tensorflow" in result["steps"], done.stdout
    for (answer,) in result["steps"].values():
        assert answer["device"] == "the processor"
        assert min(answer["accumulate"], answer["apply"], answer["peak_bytes"]) > 0
    assert all("No module named" in why for why in result["skipped"].values())
