"""What a training step takes on a GPU: seconds, memory, MFU, beside Hugging Face.

    python -m benchmarks.gpu_step
    python -m benchmarks.gpu_step --models base --rows 64 --frameworks jax hugging-face
    python -m benchmarks.gpu_step --small

A table for each model, and a JSON line. A step is one micro-batch and one update, LAMB
for ours and AdamW for the other, both tasks, no dropout; the micro-batch is as large as
`albert pretrain` makes it there unless --rows is given. Each framework has the first
GPU to itself, in a process of its own, in turns; the median of the rounds counts. MFU
is of the rate of matrix products that the GPU reaches, as `albert pretrain` shows it.
What is left out is said in a sentence. --small tries everything with a tiny model on
the processor.
"""

import argparse
import json
import os
import statistics
import subprocess
from typing import Any

from benchmarks.measuring import ask
from benchmarks.step_frameworks import Cell, HuggingFace, Ours, random_arrays
from benchmarks.step_speed import PARTS, resident_megabytes, step
from schemas.readable import prefixed

# Ours on both backends, and Hugging Face's, compiled.
FRAMEWORKS = ("jax", "tensorflow", "hugging-face")
STEPS = 10  # that are timed in a process

Answer = dict[str, Any]


def main() -> None:
    """Print a table for each model."""
    arguments = parse_arguments()
    if arguments.worker:
        return print(json.dumps(measured(arguments.worker)))
    if arguments.small:
        arguments.models, arguments.length, arguments.rounds = ["tiny"], 32, 1
        arguments.rows = arguments.rows or 2
    results = []
    for model in arguments.models:
        results.append(results_of(model, arguments))
        print(table(results[-1]), flush=True)
    print(json.dumps(results))
    return None


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--models", nargs="+", default=["base", "large"])
    parser.add_argument("--frameworks", nargs="+", default=list(FRAMEWORKS))
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--rows", type=int, help="of a micro-batch")
    parser.add_argument("--precision", default="bfloat16")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--small", action="store_true", help="on the processor")
    parser.add_argument("--worker", type=json.loads, help=argparse.SUPPRESS)
    return parser.parse_args()


def results_of(model: str, arguments: argparse.Namespace) -> Answer:
    """What every framework takes for a model, and what the GPU can do."""
    question = {
        "model": model,
        "length": arguments.length,
        "predictions": round(0.15 * arguments.length),
        "precision": arguments.precision,
        "rows": arguments.rows,
        "on_gpu": not arguments.small,
    }
    result: Answer = {**question, "rates": [], "steps": {}, "skipped": {}}
    for _ in range(arguments.rounds):
        for name in arguments.frameworks:
            if name in result["skipped"]:
                continue
            answer = found_by(question | {"framework": name, "rows": result["rows"]})
            if "skipped" in answer:
                result["skipped"][name] = answer["skipped"]
                continue
            result["device"] = answer["device"]
            # The first framework decides for all.
            result["rows"] = answer["rows"]
            result["rates"] += [answer["rate"]] if "rate" in answer else []
            result["steps"].setdefault(name, []).append(answer)
    return result


def found_by(question: Answer) -> Answer:
    """What a process of a framework finds, or why it finds nothing."""
    name = question["framework"]
    environment = {
        "CUDA_VISIBLE_DEVICES": os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0],
        "KERAS_BACKEND": "jax" if name == "jax" else "tensorflow",
    }
    try:
        answer: Answer = ask(
            "benchmarks.gpu_step", question, environment=environment, stderr=subprocess.PIPE
        )
    except subprocess.CalledProcessError as error:
        last = (error.stderr.strip().splitlines() or ["nothing"])[-1]
        return {"skipped": f"its process ended with {error.returncode}: {last:.300}"}
    return answer


def measured(question: Answer) -> Answer:
    """What a framework takes, in this process."""
    name = question["framework"]
    try:
        framework = HuggingFace() if name == "hugging-face" else Ours()
    except ImportError as error:
        return {"skipped": f"{error}."}
    device = device_of(name)
    if question["on_gpu"] and device is None:
        return {"skipped": f"{name} sees no GPU here; --small tries the processor."}
    rows = question["rows"] or derived_rows(question, name)
    if rows is None:
        return {"skipped": "give --rows, or begin with a framework of ours."}
    cell = Cell(
        precision=question["precision"],
        rows=rows,
        length=question["length"],
        predictions=question["predictions"],
        model=question["model"],
    )
    before = resident_megabytes("VmRSS")
    framework.prepare(cell, random_arrays(cell))
    for _ in range(3):  # the first compiles
        step(framework)
    times = [step(framework) for _ in range(STEPS)]
    answer = {part: statistics.median(one[part] for one in times) for part in PARTS}
    used = peak_bytes(name) if device else (resident_megabytes("VmHWM") - before) * 1e6
    answer |= {"device": device or "the processor", "rows": rows, "peak_bytes": used}
    if name != "hugging-face":
        from albert_tf.training.timing import matrix_rate

        answer["rate"] = matrix_rate(cell.precision)
    return answer


def device_of(name: str) -> str | None:
    """What a framework calls the first GPU that it sees."""
    if name == "jax":
        import jax

        (first, *_) = jax.devices()
        return None if first.platform == "cpu" else str(first.device_kind)
    if name == "tensorflow":
        import tensorflow as tf

        devices = tf.config.list_physical_devices("GPU")
        details = [tf.config.experimental.get_device_details(one) for one in devices]
        return str(details[0].get("device_name", "a GPU")) if details else None
    import torch

    return torch.cuda.get_device_name(0) if torch.cuda.is_available() else None


def peak_bytes(name: str) -> int:
    """The most memory of the GPU that was in use at a time."""
    if name == "jax":
        import jax

        return int(jax.devices()[0].memory_stats()["peak_bytes_in_use"])
    if name == "tensorflow":
        import tensorflow as tf

        return int(tf.config.experimental.get_memory_info("GPU:0")["peak"])
    import torch

    return int(torch.cuda.max_memory_allocated())


def derived_rows(question: Answer, name: str) -> int | None:
    """The micro-batch that `albert pretrain` takes; None if this is not ours."""
    if name == "hugging-face":
        return None
    from albert_tf.model.pretrainer import AlbertPretrainer
    from albert_tf.planning.cost import derive_micro_batch_size, memory_limit
    from albert_tf.training.run import training_steps
    from schemas.architecture import PRESETS
    from schemas.config import TrainConfig

    config = PRESETS[question["model"]]
    train = TrainConfig(precision=question["precision"])
    model = AlbertPretrainer(config, precision=train.precision)
    return derive_micro_batch_size(
        train,
        config,
        length=question["length"],
        predictions=question["predictions"],
        limit=memory_limit(training_steps(model, train).memory()),
    )


def table(result: Answer) -> str:
    """A line for each framework: what its step takes, or why it was left out."""
    from albert_tf.planning.cost import training_flops
    from schemas.architecture import PRESETS

    lines = [f"{result['model']}, {result['length']} tokens, {result['precision']}"]
    if result["steps"]:
        rate, rows = max(result["rates"], default=None), result["rows"]
        reached = f", matrix products {prefixed(rate, 'FLOP')}/s" if rate else ""
        lines[0] += f", micro-batch of {rows} on {result['device']}{reached}"
        lines.append(f"{'':<14}{'step s':>9}{'update s':>10}{'seq/s':>9}{'memory':>10}{'MFU':>6}")
        flops = rows * training_flops(
            PRESETS[result["model"]], length=result["length"], predictions=result["predictions"]
        )
        for name, answers in result["steps"].items():
            whole, update = (
                statistics.median(sum(one[part] for part in parts) for one in answers)
                for parts in (PARTS, PARTS[1:])
            )
            used = max(one["peak_bytes"] for one in answers)
            mfu = f"{flops / whole / rate:.0%}" if rate else "-"
            lines.append(
                f"{name:<14}{whole:>9.4f}{update:>10.4f}{rows / whole:>9.1f}"
                f"{prefixed(used, 'B'):>10}{mfu:>6}"
            )
    lines += [f"{name}: left out, {why}" for name, why in result["skipped"].items()]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
