"""A whole run on a GPU in a given time, from data to a measured model.

    python -m benchmarks.gpu_run DATA --output FOLDER --budget 4m

Runs `albert pretrain --budget` and `albert evaluate` as a person would, and says where the time
went: until the model is chosen, compiled, in steps, in the rest; sequences a second, MFU,
how busy the GPU was (by nvidia-smi), bits per character. A table, and a JSON line. It also runs
where there is no GPU.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from albert_tf.planning.budget import step_flops
from albert_tf.runs.metrics import read_evaluations, read_metrics
from albert_tf.runs.run_record import (
    recorded_manifest,
    recorded_settings,
    recorded_training,
    run_config,
)
from benchmarks.measuring import albert
from schemas.layout import EVAL, TRAIN
from schemas.readable import prefixed

# What `albert pretrain` says when a part is over.
ENDS = {
    "start": re.compile("Counting neighbouring"),
    "choosing": re.compile("chosen: "),
    "compiling": re.compile("A step of "),
}
RATE = re.compile(r"\(MFU (\d+)% of (.+)/s\)")


def main() -> None:
    """Print where the time of a run went."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--budget", default="4m")
    parser.add_argument("options", nargs="*", help="of albert pretrain, after --")
    arguments = parser.parse_args()
    run, busy = arguments.output, BusyShare()
    busy.start()
    began, ends, told = time.monotonic(), {}, ""
    command = albert("pretrain", "--data", str(arguments.data), "--output", str(run))
    command += ["--budget", arguments.budget, *arguments.options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            now = time.monotonic() - began
            sys.stdout.write(f"{now:7.1f}  {line}")
            sys.stdout.flush()
            ends |= {name: now for name, sign in ENDS.items() if sign.search(line)}
            told += line
    trained = time.monotonic() - began
    busy.stop()
    if process.returncode:
        sys.exit(f"albert pretrain ended with {process.returncode}")
    result = parts_of(run, ends=ends, seconds=trained)
    result |= {"pretrain": trained, "mfu_of_a_step": RATE.findall(told)}
    result |= {"gpu_busy": busy.share(ends.get("compiling", 0.0), trained)}
    for name, value in result.items():
        print(f"{name:<24}{value:.3f}" if isinstance(value, float) else f"{name:<24}{value}")
    began = time.monotonic()
    subprocess.run(albert("evaluate", str(run), "--data", str(arguments.data)), check=True)
    result |= {"evaluate": time.monotonic() - began}
    result |= {"bits_per_character": read_evaluations(run)[-1].get("bits_per_character")}
    print(json.dumps(result))


def parts_of(run: Path, *, ends: dict[str, float], seconds: float) -> dict[str, Any]:
    """Seconds by part of a finished run, and what its steps and its model were like."""
    lines = read_metrics(run)
    last = [line for line in lines if line["split"] == TRAIN][-1]
    held_out = [line for line in lines if line["split"] == EVAL][-1]
    in_steps = last["seconds"]
    manifest = recorded_manifest(run)
    assert manifest is not None, "a run keeps that of its data"
    model, train = run_config(run), recorded_training(run, recorded_settings(run))
    # In each second of its steps.
    steps = last["step"] / in_steps
    operations = steps * step_flops(model, train, manifest)
    before = {name: ends.get(name, 0.0) for name in ENDS}
    return {
        "start": before["start"],
        "choosing": before["choosing"] - before["start"],
        "compiling": before["compiling"] - before["choosing"],
        "in_steps": in_steps,
        "rest": seconds - before["compiling"] - in_steps,
        "share_in_steps": in_steps / seconds,
        "model": model.shape,
        "batch": train.batch_size,
        "steps": last["step"],
        "sequences_per_second": steps * train.batch_size,
        "flops_per_second": prefixed(operations, ""),
        "held_out_bits": held_out["bits_per_character"],
    }


class BusyShare(threading.Thread):
    """How busy the GPU is, asked once a second; nothing without nvidia-smi."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._began, self._over = time.monotonic(), threading.Event()
        self._found: list[tuple[float, float]] = []

    def run(self) -> None:
        """Ask until stopped."""
        command = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits"]
        while not self._over.wait(1.0):
            try:
                done = subprocess.run(command, capture_output=True, text=True, check=True)
            except (OSError, subprocess.CalledProcessError):
                return
            first = done.stdout.split()[0]
            self._found.append((time.monotonic() - self._began, float(first)))

    def stop(self) -> None:
        """Stop asking."""
        self._over.set()
        self.join()

    def share(self, start: float, end: float) -> float | None:
        """The mean in percent from second to second; None where nothing was told."""
        found = [percent for second, percent in self._found if start <= second <= end]
        return statistics.fmean(found) if found else None


if __name__ == "__main__":
    main()
