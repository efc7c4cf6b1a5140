"""What decides the result of fine-tuning, as hashes of it where it is large."""

import dataclasses
import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from schemas.task import TaskExample

if TYPE_CHECKING:
    from albert_tf.finetuning.job import TaskRows, TuningJob


def identity(
    job: "TuningJob", *, tests: dict[str, list[TaskExample]]
) -> dict[str, Any]:
    """What decides the result: a run goes on only with the same.

    Args:
        job: What is to be done.
        tests: Examples to predict, by the name of the file of their predictions.
    """
    from albert_tf.runs.checkpoints import arrays_sha256

    deciding = {
        field.name: getattr(job.config, field.name)
        for field in dataclasses.fields(job.config)
        if field.metadata["changes_result"]
    }
    return {
        **deciding,
        "initializer": job.initializer,
        "task": [job.spec.kind, *job.spec.metrics],
        "labels": list(job.spec.labels),
        "model": [
            arrays_sha256(job.source),
            parts_sha256(dataclasses.astuple(job.model_config)),
        ],
        "train": rows_sha256(job.train),
        "eval": rows_sha256(job.held_out),
        "test": {name: tests_sha256(examples) for name, examples in tests.items()},
    }


def rows_sha256(given: "TaskRows") -> str:
    """A hash of examples as they are read."""
    return parts_sha256((r.example, r.sequences, r.target) for r in given.rows)


def tests_sha256(examples: Iterable[TaskExample]) -> str:
    """A hash of examples to predict, wherever their file lies."""
    return parts_sha256(dataclasses.replace(each, place="") for each in examples)


def parts_sha256(parts: Iterable[object]) -> str:
    """A hash of values, each as Python writes it."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(repr(part).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
