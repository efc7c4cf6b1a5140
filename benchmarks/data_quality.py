"""What a data set realised, recounted from its files and held against its source.

    python -m benchmarks.data_quality DATA

Reads every record of the training split, and the inputs that `config.json` names, with
nothing of the writer but the tokenizer and the readers. Prints a table and a JSON line.
"""

import collections
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from cli.support.raw_text import INPUT_OPTIONS
from pipeline.core.counts import ReadingCounts
from pipeline.dataset.contents import read_examples, unpadded
from pipeline.dataset.shard_plan import plan_shards
from pipeline.reading.chunks import plan_chunks
from pipeline.reading.formats import KINDS
from pipeline.reading.inputs import find_inputs
from pipeline.reading.read import read_chunk
from pipeline.vocabulary.tokenizer import Tokenizer, load_tokenizer
from schemas.json_file import read_json
from schemas.layout import CONFIG, SPM_MODEL, TRAIN
from schemas.manifest import read_manifest
from schemas.special_tokens import CLS_ID, FIRST_ORDINARY_ID, MASK_ID, SEP_ID

# A row is looked up in the source by its first pieces.
KEY_PIECES = 6
# Documents of fewer words need not be used in full.
MEASURED_WORDS = 20


class Source:
    """The pieces of all training documents, and where any few of them stand."""

    def __init__(self, dataset: Path, tokenizer: Tokenizer, copies: int) -> None:
        plan = plan_shards(read_manifest(dataset).config)
        config = read_json(dataset / CONFIG)
        files = find_inputs(
            {kind: tuple(config[kind]) for kind in KINDS},
            **{name: config[name] for name in INPUT_OPTIONS},
        )
        documents = {}
        for split in plan_chunks(files):
            for document in read_chunk(split, counts=ReadingCounts()):
                if plan.shard(plan.shard_of(document.id)).split == TRAIN:
                    documents[document.id] = document.text
        ids, starts = [], [0]
        for text in documents.values():
            pieces = [i for ids in tokenizer.encode(text.split("\n")) for i in ids]
            if pieces:
                # A separator keeps rows from matching across two documents.
                ids += [*pieces, SEP_ID]
                starts.append(len(ids))
        self.ids = np.array(ids, np.int64)
        self.starts = np.array(starts)
        self.covered = np.zeros((copies, len(ids)), np.bool_)
        self.word_starts = tokenizer.word_starts[self.ids]
        keys = self._keys(self.ids)
        self.order = np.argsort(keys, kind="stable")
        self.keys = keys[self.order]

    @staticmethod
    def _keys(ids: np.ndarray) -> np.ndarray:
        keys = np.zeros(max(0, len(ids) - KEY_PIECES + 1), np.uint64)
        for place in range(KEY_PIECES):
            part = ids[place : place + len(keys)].astype(np.uint64)
            keys = keys * np.uint64(0x9E3779B97F4A7C15) + part
        return keys

    def find(self, pieces: list[int], copy: int) -> bool:
        """Whether pieces stand one after the other in a document; marks them used."""
        row = np.array(pieces)
        places = [
            place
            for place in self._candidates(row)
            if np.array_equal(self.ids[place : place + len(row)], row)
        ]
        if not places:
            return False
        # Text that occurs twice is used twice, so the least used place is meant.
        used = [self.covered[copy, p : p + len(row)].sum() for p in places]
        place = places[int(np.argmin(used))]
        self.covered[copy, place : place + len(row)] = True
        return True

    def _candidates(self, row: np.ndarray) -> np.ndarray:
        if len(row) < KEY_PIECES:
            return np.flatnonzero(self.ids == row[0])
        key = self._keys(row[:KEY_PIECES])[0]
        low = np.searchsorted(self.keys, key, side="left")
        high = np.searchsorted(self.keys, key, side="right")
        return self.order[low:high]


class Recount:
    """Counts over records, nothing taken from the manifest but the settings."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        # Pieces that no sentence ends with.
        self.leaves_open = np.array(
            [
                last.isalnum() or last == ","
                for last in (
                    tokenizer.piece(i)[-1] for i in range(tokenizer.vocab_size)
                )
            ]
        )
        self.counts: collections.Counter[str] = collections.Counter()
        self.spans: collections.Counter[int] = collections.Counter()

    def add(self, features: dict[str, Any]) -> list[int]:
        """Count a record; returns its text as it stood in the source."""
        ids, positions = unpadded(features)
        labels = features["masked_lm_ids"][: len(positions)]
        original = list(ids)
        for place, label in zip(positions, labels, strict=True):
            self._count_replacement(ids[place], label)
            original[place] = label
        self.counts.update(
            examples=1,
            pieces=len(ids),
            masked=len(positions),
            swapped=features["next_sentence_labels"][0],
            special_masked=sum(label < FIRST_ORDINARY_ID for label in labels),
        )
        self._count_spans(original, set(positions))
        middle = original.index(SEP_ID)
        a, b = original[1:middle], original[middle + 1 : -1]
        if b and self.leaves_open[a[-1]] != self.leaves_open[b[-1]]:
            is_swapped = features["next_sentence_labels"][0]
            self.counts["ends_differ"] += 1
            self.counts["ends_tell"] += self.leaves_open[a[-1]] == is_swapped
        return b + a if features["next_sentence_labels"][0] else a + b

    def _count_replacement(self, found: int, label: int) -> None:
        if found == MASK_ID:
            self.counts["as_mask"] += 1
        elif found == label:
            self.counts["kept"] += 1
        else:
            self.counts["random"] += 1
            self.counts["random_special"] += found < FIRST_ORDINARY_ID

    def _count_spans(self, ids: list[int], masked: set[int]) -> None:
        """Runs of masked words; any piece behind a special one starts a word."""
        length = 0
        words = self._words(ids)
        for word in words:
            hits = sum(place in masked for place in word)
            self.counts["words_in_part"] += 0 < hits < len(word)
            if hits == len(word):
                length += 1
            elif length:
                self.spans[length] += 1
                length = 0

    def _words(self, ids: list[int]) -> list[list[int]]:
        words: list[list[int]] = []
        behind_special = True
        for place, piece in enumerate(ids):
            if behind_special or self.tokenizer.word_starts[piece]:
                words.append([])
            words[-1].append(place)
            behind_special = piece in (CLS_ID, SEP_ID)
        return words


def measure(dataset: Path) -> dict[str, float]:
    """All figures of a data set."""
    manifest = read_manifest(dataset)
    tokenizer = load_tokenizer((dataset / SPM_MODEL).read_bytes())
    copies = manifest.num_copies(TRAIN)
    source = Source(dataset, tokenizer, copies)
    recount = Recount(tokenizer)
    lost = 0
    for copy in range(copies):
        for features in read_examples(dataset, manifest, split=TRAIN, copy=copy):
            lost += not source.find(recount.add(features), copy)
    return (
        figures(recount, lost)
        | use_of_text(source)
        | {
            name: manifest.statistics[name]
            for name in ("short_share", "document_end_share", "fill")
        }
    )


def figures(recount: Recount, lost: int) -> dict[str, float]:
    """The shares that a recount gives."""
    counts, spans = recount.counts, sum(recount.spans.values())
    nominal = {1: 6 / 11, 2: 3 / 11, 3: 2 / 11}
    deviations = {
        f"{n}_gram_deviation": recount.spans[n] / spans / share - 1
        for n, share in nominal.items()
    }
    return {
        "examples": counts["examples"],
        "spans": spans,
        **deviations,
        "masked_share": counts["masked"] / counts["pieces"],
        "as_mask_share": counts["as_mask"] / counts["masked"],
        "kept_share": counts["kept"] / counts["masked"],
        "random_share": counts["random"] / counts["masked"],
        "random_special": counts["random_special"],
        "label_1_share": counts["swapped"] / counts["examples"],
        "label_1_told_by_last_pieces": 0.5
        + (counts["ends_tell"] - counts["ends_differ"] / 2) / counts["examples"],
        "words_masked_in_part": counts["words_in_part"],
        "special_pieces_masked": counts["special_masked"],
        "rows_not_consecutive_in_source": lost,
    }


def use_of_text(source: Source) -> dict[str, float]:
    """The share of the training documents' pieces that stand in each copy."""
    worst, used, total = 1.0, 0, 0
    for start, end in zip(source.starts, source.starts[1:] - 1, strict=False):
        covered = source.covered[:, start:end].mean(axis=1)
        used += int(source.covered[:, start:end].sum())
        total += len(source.covered) * (end - start)
        if source.word_starts[start:end].sum() >= MEASURED_WORDS:
            worst = min(worst, float(covered.min()))
    return {"least_use_of_a_document": worst, "use_of_all_text": used / total}


def main() -> None:
    """Measure the data set given."""
    result = measure(Path(sys.argv[1]))
    for name, value in result.items():
        shown = f"{value:,}" if isinstance(value, int) else f"{value:.5f}"
        print(f"{name:32} {shown:>14}")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
