"""The card of a fine-tuned model: what it does, and what it is worth, for a person."""

import dataclasses
from collections.abc import Iterator
from typing import Any

from albert_tf.finetuning.task_worth import labels, measures
from albert_tf.finetuning.tuned_model import TaskRecord
from albert_tf.finetuning.tuning_job import TuningJob
from schemas import __version__

_KINDS = {
    "classify": "says which label a text has",
    "multilabel": "says which labels a text has",
    "regress": "gives a text a score",
    "choose": "chooses one of several options",
    "answer": "finds the answer to a question in a passage",
    "tag": "gives each word a tag",
}


def tuned_card(record: TaskRecord, job: TuningJob, result: dict[str, Any]) -> str:
    """`README.md` of a fine-tuned model.

    Args:
        record: Its task.
        job: How it was trained.
        result: What `eval.json` says.
    """
    config = job.model_config
    lines = [
        f"# {record.spec.name}: ALBERT, {config.num_hidden_layers} layers of width "
        f"{config.hidden_size}",
        "",
        f"It {_KINDS[record.spec.kind]}. Fine-tuned with "
        f"[albert](https://arxiv.org/abs/1909.11942) {__version__}; weights of step "
        f"{result['step']:,}.",
        "",
        *measures(result),
        "",
        *labels(result),
        "## Recipe",
        "",
        "| setting | value |",
        "|---|---|",
        *(
            f"| {field.name} | {getattr(job.config, field.name)} |"
            for field in dataclasses.fields(job.config)
        ),
        f"| examples to train on | {result['training_examples']:,} |",
        "",
        *errors(result),
    ]
    return "\n".join(lines) + "\n"


def errors(result: dict[str, Any]) -> Iterator[str]:
    """The errors that the model is surest of."""
    if not result["errors"]:
        return
    yield from ("## The errors it is surest of", "")
    for error in result["errors"][:10]:
        text = " / ".join(filter(None, [error["text"], error["text_pair"]]))
        text = " ".join(text.split()).replace("|", " ")[:200]
        yield f"- {text!r}: {error['predicted']}, and right is {error['right']}"
