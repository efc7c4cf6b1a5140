"""Measure a model of vectors as it is and as it is exported.

    taskset -c 0 python -m benchmarks.serving MODEL TEXTS --output FOLDER

A table: the bytes of each form, tokens a second, the ratio to transformers, and the largest
difference of its vectors from those of `albert embed`. MODEL is a run, or what `albert
finetune --task embed` made of one; TEXTS has a text in each line; FOLDER gets the export to
sentence-transformers, whose weights transformers reads and whose graphs onnxruntime does. All
compute the same batches, which are tokenized before, one after the other in each round; the
median of the rounds counts. Needs the extras `hf` and `onnx`.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from albert_tf.convert.onnx_graph import Session
from albert_tf.finetuning.batches import batches_to_predict
from albert_tf.inference import Model
from benchmarks.measuring import run_albert
from schemas.task import EncodedExample

Vectors = np.ndarray[Any, Any]
WEIGHTS = "model.safetensors"
GRAPHS = {"onnxruntime": "onnx/model.onnx", "onnxruntime, int8": "onnx/model_quantized.onnx"}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("model", type=Path, metavar="MODEL")
    parser.add_argument("texts", type=Path, metavar="TEXTS")
    parser.add_argument("--output", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    export = arguments.output
    if not export.exists():
        target = ("--to", "sentence-transformers", "--int8", "--output", str(export))
        run_albert("export", str(arguments.model), *target)
    model = Model(arguments.model)
    texts = arguments.texts.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    rows = model.rows_of(texts).rows
    longest = model.embedder.record.max_seq_length
    forms: dict[str, Callable[[], Vectors]] = {
        "albert embed": lambda: model.vectors_of(rows),
        "transformers": of_transformers(export, rows, longest=longest),
        **{name: of_graph(export / file, rows, longest) for name, file in GRAPHS.items()},
    }
    files = [export / WEIGHTS, export / WEIGHTS, *(export / file for file in GRAPHS.values())]
    seconds: dict[str, list[float]] = {name: [] for name in forms}
    vectors = {name: compute() for name, compute in forms.items()}  # also compiles
    for _ in range(arguments.rounds):
        for name, compute in forms.items():
            start = time.perf_counter()
            compute()
            seconds[name].append(time.perf_counter() - start)
    tokens = sum(row.length for row in rows)
    theirs = seconds["transformers"]
    print(f"{len(rows):,} texts, {tokens:,} tokens, {model.trained.config.shape}\n")
    print("| form | MB | tokens a second | of transformers | largest difference |")
    print("|---|--:|--:|--:|--:|")
    for (name, own), file in zip(seconds.items(), files, strict=True):
        ratio = statistics.median(b / a for a, b in zip(own, theirs, strict=True))
        far = np.abs(vectors[name] - vectors["albert embed"]).max()
        rate = tokens / statistics.median(own)
        size = file.stat().st_size / 1e6
        print(f"| {name} | {size:.1f} | {rate:,.0f} | {ratio:.2f} | {far:.1e} |")


def of_transformers(
    export: Path, rows: Sequence[EncodedExample], *, longest: int
) -> Callable[[], Vectors]:
    """The vectors of an export by transformers, in float32."""
    import torch
    from transformers import AutoModel

    torch.set_num_threads(1)
    model = AutoModel.from_pretrained(export).eval()

    def mean(batch: dict[str, Any]) -> Vectors:
        ids, mask, types = (
            torch.tensor(batch[name], dtype=torch.int64)
            for name in ("input_ids", "input_mask", "segment_ids")
        )
        with torch.inference_mode():
            found = model(input_ids=ids, attention_mask=mask, token_type_ids=types)
            weights = mask[..., None].float()
            sums = (found.last_hidden_state * weights).sum(dim=1)
            return np.asarray(sums / weights.sum(dim=1).clamp(min=1))

    return lambda: in_batches(rows, mean, longest=longest)


def of_graph(path: Path, rows: Sequence[EncodedExample], longest: int) -> Callable[[], Vectors]:
    """The vectors of a graph by onnxruntime."""
    session = Session(path, threads=1)
    return lambda: in_batches(
        rows, lambda batch: session(batch)["sentence_embedding"], longest=longest
    )


def in_batches(
    rows: Sequence[EncodedExample], compute: Callable[[dict[str, Any]], Vectors], *, longest: int
) -> Vectors:
    """Vectors of length 1 of all rows, `[N, H]`, computed as `albert embed` divides them."""
    found: list[Any] = [None] * len(rows)
    for numbers, batch in batches_to_predict(rows, "embed", longest=longest):
        single = {name: values[:, 0] for name, values in batch.items() if values.ndim == 3}
        for number, vector in zip(numbers, compute(single), strict=False):
            found[number] = vector
    vectors = np.array(found, np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


if __name__ == "__main__":
    main()
