"""What a finished data set holds: its vocabulary and records, checked and shown."""

import hashlib
import itertools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from pipeline.records.checks import decode_columns
from pipeline.records.reading import (
    CorruptRecord,
    Item,
    file_sha256,
    read_copy,
    read_shard,
    read_tokens,
    sequences_of_epoch,
)
from pipeline.vocabulary.tokenizer import check_model, load_tokenizer
from pipeline.vocabulary.wordpiece import Tokenizer
from schemas.config import SentenceTask
from schemas.errors import AlbertError
from schemas.example import MASK, SEP_ID, SPACE
from schemas.files import read_bytes
from schemas.layout import DOCUMENTS, MANIFEST, SPM_MODEL
from schemas.manifest import DatasetManifest, ShardFile
from schemas.report import Example, Token


def load_vocabulary(dataset: Path, manifest: DatasetManifest) -> Tokenizer:
    """The vocabulary of a data set."""
    if problem := vocabulary_problem(dataset, manifest):
        raise AlbertError(f"{dataset} is damaged: {problem}")
    return load_tokenizer((dataset / SPM_MODEL).read_bytes())


def vocabulary_problem(dataset: Path, manifest: DatasetManifest) -> str:
    """Why the vocabulary is not that of the data, as a sentence; empty if it is."""
    path = dataset / SPM_MODEL
    if not path.is_file():
        return f"{SPM_MODEL} is missing."
    try:
        model = read_bytes(path)
        if hashlib.sha256(model).hexdigest() != manifest.vocabulary["sha256"]:
            return (
                f"{SPM_MODEL} is not the vocabulary that the data was made with; put that one back."
            )
        check_model(model, path=path)
    except AlbertError as error:
        return str(error)
    size, expected = load_tokenizer(model).vocab_size, manifest.vocabulary["size"]
    if size != expected:
        return f"{SPM_MODEL} has {size:,} pieces, and {MANIFEST} says {expected:,}."
    return ""


def sha256_of(path: Path) -> str:
    """The hash of a file."""
    with path.open("rb") as file:
        return file_sha256(file)


def read_examples(
    dataset: Path, manifest: DatasetManifest, *, split: str, copy: int
) -> Iterator[dict[str, Any]]:
    """The features of all records of a copy, in the order of the files.

    They are without padding, but for the features that tell what is padding.
    """
    layout = manifest.config.record_layout
    for shard in manifest.shard_files(split, copy):
        items = read_copy(dataset, shard, manifest, copy=copy)
        for item in itertools.chain.from_iterable(items):
            if isinstance(item, CorruptRecord):
                raise AlbertError(f"{item}; make the data again.")
            columns = decode_columns([item], layout)
            yield {name: values.tolist() for name, (values, _) in columns.items()}


def verify(
    dataset: Path, manifest: DatasetManifest, *, progress: Callable[[int], None] = lambda _: None
) -> Iterator[str]:
    """Every way in which the files differ from the manifest, one sentence each.

    The vocabulary and every shard are hashed again, and every record is decoded and
    checked against the feature table; documents are divided into the sequences of the
    first epoch. `progress` is told the bytes of the shards that are done.
    """
    if problem := vocabulary_problem(dataset, manifest):
        yield problem
    done = 0
    for shard in manifest.shards:
        yield from _verify_shard(dataset, shard, manifest)
        done += shard.bytes
        progress(done)


def _verify_shard(dataset: Path, shard: ShardFile, manifest: DatasetManifest) -> Iterator[str]:
    path = dataset / shard.name
    if not path.exists():
        yield f"{shard.name} is missing."
        return
    is_of_its_size = path.stat().st_size == shard.bytes
    if path.is_file() and not (is_of_its_size and sha256_of(path) == shard.sha256):
        yield f"{shard.name} is not the file that the manifest describes."
    if shard.name.startswith(f"{DOCUMENTS}/"):
        tokens = read_tokens(dataset, shard, manifest, config=manifest.config)
        if isinstance(tokens, CorruptRecord):
            items: Iterable[Item] = [tokens]
        else:
            items = []
            examples = len(sequences_of_epoch(tokens, 0, config=manifest.config))
            if examples != shard.examples:
                yield (
                    f"{shard.name}: its first epoch has {examples:,} examples, and "
                    f"{MANIFEST} says {shard.examples:,}."
                )
    else:
        items = itertools.chain.from_iterable(read_shard(dataset, shard, manifest))
    for item in items:
        if isinstance(item, CorruptRecord) and item.number is not None:
            yield f"{shard.name}: {item.sentence}."


LABELS: dict[SentenceTask, tuple[str, str]] = {
    "sop": ("in order", "swapped"),
    "nsp": ("B follows A", "B is from elsewhere"),
    "none": ("one segment", "one segment"),
}


def view_example(
    features: dict[str, Any], piece: Callable[[int], str], *, task: SentenceTask
) -> Example:
    """The segments of an example, each masked token with the original."""
    ids, positions = features["input_ids"], features["masked_lm_positions"]
    originals = dict(zip(positions, features["masked_lm_ids"], strict=True))
    tokens = [
        Token(
            shown=piece(token_id), original=piece(originals[place]) if place in originals else None
        )
        for place, token_id in enumerate(ids)
    ]
    separators = [place for place, token_id in enumerate(ids) if token_id == SEP_ID]
    return Example(
        label=LABELS[task][features["next_sentence_labels"][0]],
        segments=tuple(
            tuple(tokens[start + 1 : end])
            for start, end in zip([0, *separators], separators, strict=False)
        ),
    )


def show_example(
    features: dict[str, Any], piece: Callable[[int], str], *, task: SentenceTask
) -> str:
    """A few lines for one example; arguments as in `view_example`.

    >>> pieces = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]", "▁he", "▁came", "."]
    >>> print(show_example({"input_ids": [2, 5, 4, 3, 5, 7, 3],
    ...     "masked_lm_positions": [2], "masked_lm_ids": [6],
    ...     "next_sentence_labels": [1]}, pieces.__getitem__, task="sop"))
    swapped, 7 tokens, 1 masked
      A  he [MASK]
      B  he.
      A was  he «came»
      B was  he.
    """
    tokens, masked = (len(features[n]) for n in ("input_ids", "masked_lm_ids"))
    example = view_example(features, piece, task=task)
    lines = [f"{example.label}, {tokens} tokens, {masked} masked"]
    for kind, spelled in (("", _as_masked), (" was", _as_original)):
        lines += [
            f"  {name}{kind}  {_text([spelled(token) for token in segment])}"
            for name, segment in zip("AB", example.segments, strict=False)
        ]
    return "\n".join(lines)


def _as_masked(token: Token) -> str:
    if token.shown == MASK:
        return f"{SPACE}{MASK}"
    is_masked = token.original is not None
    return f"{SPACE}[{token.shown.strip(SPACE)}]" if is_masked else token.shown


def _as_original(token: Token) -> str:
    return token.shown if token.original is None else f"«{token.original}»"


def _text(tokens: list[str]) -> str:
    """Tokens as text; masked ones next to each other share their marks."""
    text = "".join(tokens).replace(f"«{SPACE}", f"{SPACE}«").replace("»«", "")
    return text.replace(SPACE, " ").replace("» «", " ").strip()
