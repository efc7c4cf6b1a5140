"""Plain text to the first optimizer step, as Hugging Face's run_mlm.py goes.

    python -m benchmarks.huggingface_way --vocab VOCAB --cache DIR FILE...

Lines are encoded, joined, cut into rows of one length and masked when they are read.
With `datasets` installed it reads the files and keeps the rows in --cache; otherwise
lines are read plainly, and the rows stay in memory as arrays. The model is
AlbertForMaskedLM in torch, not compiled, the optimizer AdamW.
"""

import argparse
import dataclasses
import importlib.util
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.step_frameworks import huggingface_config
from schemas.presets import PRESETS

# Lines that are encoded at a time, as many as `datasets` hands over.
LINES_AT_A_TIME = 1000

Row = dict[str, Any]


def main() -> None:
    """Make a step, and say so."""
    arguments = parse_arguments()
    import torch
    from transformers import (
        AlbertForMaskedLM,
        AutoTokenizer,
        DataCollatorForLanguageModeling,
    )

    torch.set_num_threads(arguments.workers)
    tokenizer = AutoTokenizer.from_pretrained(arguments.vocab)
    rows = (rows_of_datasets if has_datasets() else rows_in_memory)(
        tokenizer, arguments
    )
    collate = DataCollatorForLanguageModeling(
        tokenizer,
        whole_word_mask=arguments.whole_words,
        mask_replace_prob=1.0 if arguments.whole_words else 0.8,
        random_replace_prob=0.0 if arguments.whole_words else 0.1,
    )
    batches = torch.utils.data.DataLoader(
        rows, batch_size=arguments.batch_size, shuffle=True, collate_fn=collate
    )
    config = dataclasses.replace(PRESETS[arguments.model], vocab_size=len(tokenizer))
    model = AlbertForMaskedLM(huggingface_config(config)).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loss = model(**next(iter(batches))).loss
    loss.backward()
    optimizer.step()
    print(f"step 1/1, masked LM {loss:.3f}, of {len(rows):,} rows", flush=True)


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--vocab", type=Path, required=True)
    parser.add_argument("--cache", required=True, metavar="DIR")
    parser.add_argument("--whole-words", action="store_true")
    parser.add_argument("--model", choices=PRESETS, default="tiny")
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--workers", type=int, default=1, metavar="N")
    return parser.parse_args()


def has_datasets() -> bool:
    """Whether the package `datasets` is installed."""
    return importlib.util.find_spec("datasets") is not None


def rows_of_datasets(tokenizer: Any, arguments: argparse.Namespace) -> Any:
    """The rows in files of Arrow."""
    import datasets

    def rows(lines: dict[str, list[str]]) -> dict[str, list[Any]]:
        encoded = encode(tokenizer, lines["text"], arguments)
        return group_texts(encoded, length=arguments.length)

    text = datasets.load_dataset(
        "text",
        data_files=arguments.files,
        split="train",
        cache_dir=arguments.cache,
        encoding_errors="replace",
    )
    return text.map(
        rows, batched=True, num_proc=arguments.workers, remove_columns=["text"]
    )


def rows_in_memory(tokenizer: Any, arguments: argparse.Namespace) -> "RowsInMemory":
    """The rows as arrays, in the types in which `datasets` keeps them."""
    tables = []
    lines = lines_of(arguments.files)
    while some := list(itertools.islice(lines, LINES_AT_A_TIME)):
        encoded = encode(tokenizer, some, arguments)
        rows = group_texts(encoded, length=arguments.length)
        tables.append(
            {
                name: np.array(rows[name], "i1" if name.endswith("mask") else "i4")
                for name in rows
            }
        )
    return RowsInMemory(tables)


class RowsInMemory(Sequence[Row]):
    """Rows by their number, from tables of many.

    Args:
        tables: Arrays `[N, S, ...]` by name.
    """

    def __init__(self, tables: list[dict[str, np.ndarray]]) -> None:
        self._tables = tables
        self._ends = np.cumsum([len(table["input_ids"]) for table in tables])

    def __len__(self) -> int:
        return int(self._ends[-1])

    def __getitem__(self, number: int) -> Row:
        place = int(np.searchsorted(self._ends, number, side="right"))
        table = self._tables[place]
        row = number - int(self._ends[place])  # from the end, below 0
        return {name: values[row] for name, values in table.items()}


def lines_of(files: list[str]) -> Iterator[str]:
    """The lines of files, as they stand."""
    for path in files:
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                yield line.rstrip("\n")


def encode(
    tokenizer: Any, lines: list[str], arguments: argparse.Namespace
) -> dict[str, list[list[Any]]]:
    """The tokens of lines, and what the masks need to know of them."""
    encoded = tokenizer(
        lines,
        return_special_tokens_mask=True,
        return_offsets_mapping=arguments.whole_words,
    )
    return dict(encoded)


def group_texts(
    encoded: dict[str, list[list[Any]]], *, length: int
) -> dict[str, list[list[Any]]]:
    """Rows of one length from lines one after the other; what is left over is dropped.

    >>> group_texts({"input_ids": [[2, 7, 3], [2, 8, 9, 3]]}, length=3)
    {'input_ids': [[2, 7, 3], [2, 8, 9]]}
    """
    joined = {
        name: list(itertools.chain.from_iterable(values))
        for name, values in encoded.items()
    }
    starts = range(0, len(joined["input_ids"]) - length + 1, length)
    return {
        name: [values[start : start + length] for start in starts]
        for name, values in joined.items()
    }


if __name__ == "__main__":
    main()
