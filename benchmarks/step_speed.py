"""Measure a training step of ALBERT-base beside KerasHub and Hugging Face.

    python -m benchmarks.step_speed
    python -m benchmarks.step_speed --shapes 8x512x77 --precisions bfloat16 --rounds 7
    python -m benchmarks.step_speed --memory

A table and a JSON line. Frameworks take turns, each in a process of its own that waits
while others work; the median of the rounds counts, and the ratio is the median of the
rounds' ratios. A peer that is not installed is left out with its reason. Needs about
12 GB of memory with both peers, and a machine that does nothing else.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.measuring import seconds, start
from benchmarks.step_frameworks import Cell, HuggingFace, KerasHub, Ours, random_arrays

FRAMEWORKS = {"ours": Ours, "keras-hub": KerasHub, "hugging-face": HuggingFace}

PARTS = ("accumulate", "apply")

Round = dict[str, dict[str, float]]


def main() -> None:
    arguments = parse_arguments()
    if arguments.worker:
        return work(arguments.worker["name"], Cell(**arguments.worker["cell"]))
    measure = measure_memory if arguments.memory else measure_speed
    results = []
    for precision in arguments.precisions:
        for shape in arguments.shapes:
            rows, length, predictions = map(int, shape.split("x"))
            cell = Cell(precision=precision, rows=rows, length=length, predictions=predictions)
            print(f"{rows} x {length} (P = {predictions}), {precision}", flush=True)
            results.append(vars(cell) | measure(cell, arguments))
    print(json.dumps(results))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", nargs="+", default=["8x512x77", "32x128x19"])
    parser.add_argument("--precisions", nargs="+", default=["float32", "bfloat16"])
    parser.add_argument("--frameworks", nargs="+", default=list(FRAMEWORKS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--processor-time",
        action="store_true",
        help="not time on the wall (but of the rate); behind `taskset -c 0`",
    )
    parser.add_argument("--memory", action="store_true", help="memory, not speed")
    parser.add_argument("--worker", type=json.loads, help=argparse.SUPPRESS)
    return parser.parse_args()


def measure_speed(cell: Cell, arguments: argparse.Namespace) -> dict[str, Any]:
    """Seconds of each framework's steps in alternating rounds, and what follows."""
    from albert_tf.planning.cost import training_flops

    workers, skipped = start_workers(cell, arguments.frameworks)
    question = "processor" if arguments.processor_time else "step"
    rounds = [
        {name: ask(worker, question) for name, worker in workers.items()}
        for _ in range(arguments.rounds)
    ]
    rate = ask(next(iter(workers.values())), "rate")["rate"]
    for worker in workers.values():
        worker.communicate()
    flops = cell.rows * training_flops(
        cell.config, length=cell.length, predictions=cell.predictions
    )
    result: dict[str, Any] = {"skipped": skipped, "matrix_rate": rate}
    print(f"{'':<14}{'seq/s':>8}{'tokens/s':>10}{'step s':>9}{'update s':>10}{'of rate':>9}")
    for name in workers:
        step, update = (statistics.median(one[name][part] for one in rounds) for part in PARTS)
        share = flops / step / rate
        result[name] = {"step": step, "update": update, "share_of_rate": share}
        print(
            f"{name:<14}{cell.rows / step:>8.2f}{cell.rows * cell.length / step:>10.0f}"
            f"{step:>9.3f}{update:>10.3f}{share:>9.0%}"
        )
    peers = [name for name in workers if name != "ours"]
    if peers and "ours" in workers:
        best = min(peers, key=lambda name: result[name]["step"])
        result["ratio"] = ratio(rounds, best, ["accumulate"])
        result["ratio_with_update"] = ratio(rounds, best, PARTS)
        print(
            f"ours / {best}: {result['ratio']:.3f}, "
            f"{result['ratio_with_update']:.3f} with the optimizer",
            flush=True,
        )
    return result


def ratio(rounds: list[Round], peer: str, parts: Sequence[str]) -> float:
    """How many times as fast as the peer we are, the median of the rounds."""
    return statistics.median(
        sum(one[peer][part] for part in parts) / sum(one["ours"][part] for part in parts)
        for one in rounds
    )


def measure_memory(cell: Cell, arguments: argparse.Namespace) -> dict[str, Any]:
    """Peak resident set during steps less that before the model, in MB."""
    result: dict[str, Any] = {}
    for name in arguments.frameworks:
        workers, skipped = start_workers(cell, [name])
        result |= {"skipped": result.get("skipped", {}) | skipped}
        for worker in workers.values():
            result[name] = ask(worker, "memory")["megabytes"]
            worker.communicate()
            print(f"{name:<14}{result[name]:>8.0f} MB", flush=True)
    return result


def start_workers(
    cell: Cell, names: list[str]
) -> tuple[dict[str, subprocess.Popen[str]], dict[str, str]]:
    """A warm process for each framework, and why others have none."""
    workers, skipped = {}, {}
    for name in names:
        question = {"name": name, "cell": vars(cell)}
        worker = start("benchmarks.step_speed", question, stdin=subprocess.PIPE)
        answer = heard_from(worker)
        if "skipped" in answer:
            skipped[name] = answer["skipped"]
            print(f"{name}: left out, {skipped[name]}", flush=True)
            worker.communicate()
        else:
            workers[name] = worker
    return workers, skipped


def ask(worker: subprocess.Popen[str], question: str) -> dict[str, Any]:
    """Send a line to a worker and wait for its answer."""
    assert worker.stdin is not None
    worker.stdin.write(question + "\n")
    worker.stdin.flush()
    return heard_from(worker)


def heard_from(worker: subprocess.Popen[str]) -> dict[str, Any]:
    """Wait for the next answer of a worker.

    Raises:
        RuntimeError: It has ended instead.
    """
    assert worker.stdout is not None
    for line in worker.stdout:
        if line.startswith("{"):
            answer: dict[str, Any] = json.loads(line)
            return answer
    raise RuntimeError(f"the worker ended with status {worker.wait()}")


def work(name: str, cell: Cell) -> None:
    """The life of a worker: prepare a cell, then answer questions about steps."""
    try:
        framework = FRAMEWORKS[name]()
    except ImportError as error:
        return say({"skipped": str(error)})
    arrays = random_arrays(cell)
    before = resident_megabytes("VmRSS")
    framework.prepare(cell, arrays)
    for _ in range(3):  # the first compiles
        step(framework)
    say({"ready": True})
    clocks = {"step": time.perf_counter, "processor": time.process_time}
    for question in map(str.strip, sys.stdin):
        if question == "memory":
            Path("/proc/self/clear_refs").write_text("5")  # forgets the peak so far
            for _ in range(3):
                step(framework)
            say({"megabytes": resident_megabytes("VmHWM") - before})
        elif question == "rate":
            from albert_tf.training.timing import matrix_rate

            say({"rate": matrix_rate(cell.precision)})
        else:
            say(step(framework, clocks[question]))


def say(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


def step(framework: Any, clock: Callable[[], float] = time.perf_counter) -> dict[str, float]:
    """The seconds of one step, forward and backward apart from the optimizer."""
    return {part: seconds(getattr(framework, part), clock=clock) for part in PARTS}


def resident_megabytes(name: str) -> float:
    """`VmRSS`, what this process has in memory now, or `VmHWM`, its peak."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith(name))
    return int(line.split()[1]) * 1024 / 1e6


if __name__ == "__main__":
    main()
