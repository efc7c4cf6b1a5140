"""The manifest and the data card of a data set: what decides it, what it holds, checked."""

import hashlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from pipeline.core.documents import ReadingCounts, in_order, left_out
from pipeline.dataset.shard import (
    LENGTH_BAR,
    NEAR_COPY,
    Counts,
    DatasetPlan,
    Shard,
    plan_dataset,
    tool_versions,
    write_shard,
)
from pipeline.noise.look import look_facts
from pipeline.reading.formats import InputFile
from pipeline.reading.read import plan_chunks, read_shard_documents
from pipeline.records.checks import decode_columns
from pipeline.records.reading import (
    CorruptRecord,
    Item,
    file_sha256,
    intact,
    read_copy,
    read_shard,
    read_tokens,
    sequences_of_epoch,
)
from pipeline.storage.files import join, write_whole
from pipeline.vocabulary.tokenizer import Tokenizer, check_model, load_tokenizer
from schemas.config import ResolvedDataConfig, SentenceTask
from schemas.errors import AlbertError
from schemas.example import MASK, SEP_ID, SPACE
from schemas.files import json_text, read_bytes
from schemas.layout import DATA_CARD, DOCUMENTS, EVAL, MANIFEST, SPM_MODEL, TRAIN, copy_directory
from schemas.manifest import DatasetManifest, ShardFile, inputs_table, recorded, splits_table
from schemas.readable import counted, percent
from schemas.report import Example, Section, Table, Token, as_markdown


class NothingToTrainOn(AlbertError):
    """No document is left for the training split."""


def write_dataset(
    plan: DatasetPlan,
    sidecars: list[dict[str, Any]],
    read_counts: ReadingCounts,
    *,
    output: str | Path,
    look: dict[str, Any],
) -> DatasetManifest:
    """Write the data card and then, as the last file of all, the manifest, which is given."""
    manifest = make_manifest(plan, sidecars, read_counts, look=look)
    if not manifest.splits[TRAIN]["copies"][0]["examples"]:
        if near := manifest.dropped.get(NEAR_COPY["hold-out"]):
            raise NothingToTrainOn(
                f"No document is left to train on: {near:,} hold text that is held "
                "out too; give more documents, or less to be held out."
            )
        if held_out := manifest.splits[EVAL]["documents"]:
            raise NothingToTrainOn(
                f"--eval-fraction {manifest.config.eval_fraction:g} holds out every "
                f"document ({held_out:,}), so that none is left to train on; give a "
                "smaller one, or more documents."
            )
        raise NothingToTrainOn(
            f"The inputs give no document to train on{left_out(manifest.dropped)}."
        )
    write_whole(join(output, DATA_CARD), data_card(manifest))
    write_whole(join(output, MANIFEST), json_text(manifest.to_dict()))
    return manifest


def write_held_out(
    files: list[InputFile], config: ResolvedDataConfig, *, tokenizer: Tokenizer, output: Path
) -> DatasetManifest:
    """Write the eval split of a data set that has no other; its manifest."""
    counts = ReadingCounts()
    documents = (
        document
        for chunk in plan_chunks(files)
        for document in read_shard_documents(chunk, counts=counts)
    )
    sidecar = write_shard(
        documents,
        Shard(split=EVAL, index=0, num_shards=1),
        tokenizer=tokenizer,
        config=config,
        output=output,
    )
    plan = plan_dataset(config, files, tokenizer=tokenizer)
    manifest = make_manifest(plan, [sidecar], counts)
    if not manifest.num_examples(EVAL):
        raise AlbertError(
            f"The text gives no examples to measure on{left_out(manifest.dropped)}; "
            "give longer documents."
        )
    return manifest


def make_manifest(
    plan: DatasetPlan,
    sidecars: list[dict[str, Any]],
    read_counts: ReadingCounts,
    *,
    look: dict[str, Any] | None = None,
) -> DatasetManifest:
    """The manifest of a data set, by its shards' sidecars and what reading counted."""
    sidecars = sorted(sidecars, key=lambda s: (s["split"], s["shard"]))
    dropped = Counter(read_counts.dropped)
    for sidecar in sidecars:
        dropped.update(sidecar["dropped"])
    named = {"examples": "examples", "tokens": "tokens", "masked_tokens": "masked"}
    splits: dict[str, dict[str, Any]] = {}
    for split in (TRAIN, EVAL):
        of_split = [sidecar for sidecar in sidecars if sidecar["split"] == split]
        copies = map(added, zip(*(sidecar["copies"] for sidecar in of_split), strict=True))
        splits[split] = {
            # No two shards count the same document.
            "documents": sum(sidecar["documents"] for sidecar in of_split),
            "copies": [{n: copy.totals[k] for n, k in named.items()} for copy in copies],
        }
    trained = (copy for s in sidecars if s["split"] == TRAIN for copy in s["copies"])
    shards = [ShardFile(**file) for sidecar in sidecars for file in sidecar["files"]]
    return DatasetManifest(
        config=plan.config,
        vocabulary=plan.vocabulary,
        fingerprint=plan.fingerprint(),
        versions=tool_versions(plan.config),
        inputs=plan.inputs,
        splits=splits,
        statistics=realised(added(trained), plan.config),
        text=look or {},
        dropped=in_order(dropped),
        changed=in_order(read_counts.changed),
        shards=tuple(sorted(shards, key=lambda shard: shard.name)),
    )


def added(copies: Iterable[dict[str, Any]]) -> Counts:
    """The counts of copies of shards together, each as a sidecar has them."""
    total = Counts()
    for copy in copies:
        total.add(Counts.from_dict(copy))
    return total


# What the card calls the shares of the manifest.
_WORDS = {
    "short_share": "sequences with a short target",
    "document_end_share": "sequences that end a document",
    "fill": "fill of the other sequences",
    "masked_share": "tokens masked",
    "mask_token_share": "masked tokens shown as the mask",
    "kept_share": "masked tokens left as they are",
    "random_share": "masked tokens replaced by another",
    "label_1_share": "pairs with label 1 (swapped, or from elsewhere)",
    "unknown_share": "unknown tokens",
}

_OF_EXAMPLES = """\
Masked sentence pairs made by `albert make-data`. `manifest.json` beside this
file says the same for programs."""
_OF_DOCUMENTS = """\
Documents as tokens, made by `albert make-data`, from which training makes masked
sentence pairs, a new copy in each epoch; the counts of the training split are of
the first copy. `manifest.json` beside this file says the same for programs."""


def realised(counts: Counts, config: ResolvedDataConfig) -> dict[str, Any]:
    """The shares and histograms that the manifest and the data card show.

    Fill is the used share of the room for text, over the examples with a full target
    that do not end a document.
    """
    totals = counts.totals
    examples, tokens = totals["examples"], totals["tokens"]
    masked, spans = totals["masked"], sum(counts.spans.values())
    full = totals["full"]
    fill = totals["full_tokens"] - config.num_special_tokens * full
    return {
        "short_share": share(totals["short"], examples),
        "document_end_share": share(totals["document_ends"], examples),
        "fill": share(fill, full * config.max_tokens),
        "masked_share": share(masked, tokens),
        "mask_token_share": share(totals["masked_as_mask"], masked),
        "kept_share": share(totals["masked_kept"], masked),
        "random_share": share(totals["masked_random"], masked),
        "unmasked_examples": totals["unmasked_examples"],
        "pairs_without_other_document": totals["without_other_document"],
        "label_1_share": share(totals["swapped"], examples),
        "unknown_share": share(totals["unknown"], tokens),
        "mean_length": share(tokens, examples),
        "ngram_shares": {str(n): share(k, spans) for n, k in sorted(counts.spans.items())},
        "length_histogram": {
            f"{low}-{low + LENGTH_BAR - 1}": n for low, n in sorted(counts.lengths.items())
        },
    }


def share(part: int, whole: int) -> float:
    """A quotient to six places, 0 where the whole is 0.

    >>> share(1, 3)
    0.333333
    """
    return round(part / whole, 6) if whole else 0.0


def data_card(manifest: DatasetManifest) -> str:
    """The data set described for a person, in Markdown."""
    shares = {words: manifest.statistics[name] for name, words in _WORDS.items()}
    for words, of_spans in manifest.statistics["ngram_shares"].items():
        shares[f"spans of {counted(int(words), 'word')}"] = of_spans
    named = {"realised in the training split": shares}
    if look := manifest.text:
        sample = counted(look["sampled_documents"], "document")
        named[f"the text, on a sample of {sample}"] = dict(look_facts(look))
    realised, *of_text = (
        Table(columns=(title, "share"), rows=[(n, percent(v)) for n, v in of_title.items()])
        for title, of_title in named.items()
    )
    counts = {"left out": manifest.dropped, "changed while reading": manifest.changed}
    left_out: list[str | Table] = [
        Table(columns=(title, "count"), rows=list(of_title.items()))
        for title, of_title in counts.items()
        if of_title
    ]
    settings = recorded(manifest.config).items()
    card = Section(
        title="Pretraining data for ALBERT",
        parts=(
            _OF_DOCUMENTS if manifest.has_documents else _OF_EXAMPLES,
            splits_table(manifest),
            realised,
            inputs_table(manifest),
            *of_text,
            *repeated_lines(manifest),
            *(left_out or ["Nothing was left out."]),
            f"Settings: {', '.join(f'{name} {value}' for name, value in settings)}.",
            "The licence of the data is that of its inputs (Wikipedia: CC BY-SA).",
        ),
    )
    return as_markdown([card])


def repeated_lines(manifest: DatasetManifest) -> list[Table]:
    """The lines of many documents, if any were seen."""
    rows = manifest.text.get("repeated_lines")
    columns = ("repeated line", "documents, about")
    return [Table(title="Repeated lines", columns=columns, rows=rows)] if rows else []


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
        for record in intact(itertools.chain.from_iterable(items)):
            columns = decode_columns([record], layout)
            yield {name: values.tolist() for name, (values, _) in columns.items()}


def verify(
    dataset: Path, manifest: DatasetManifest, *, progress: Callable[[int], None] = lambda _: None
) -> Iterator[str]:
    """Every way in which the files differ from the manifest, one sentence each.

    The vocabulary and every shard are hashed again, every record is decoded and checked
    against the feature table, and tokens are counted; documents are divided into the sequences
    of the first epoch. `progress` is told the bytes of the shards that are done.
    """
    if problem := vocabulary_problem(dataset, manifest):
        yield problem
    done = 0
    # In the order of the names of the files.
    for split in sorted(manifest.splits):
        for copy, said in enumerate(manifest.splits[split]["copies"]):
            counts, is_whole = Counter[str](), True
            for shard in manifest.shard_files(split, copy):
                for problem in _verify_shard(dataset, shard, manifest, counts=counts):
                    is_whole = False
                    yield problem
                done += shard.bytes
                progress(done)
            for name, number in counts.items():
                if is_whole and number != said[name]:
                    yield (
                        f"{copy_directory(split, copy)} has {number:,} {name.replace('_', ' ')}, "
                        f"and {MANIFEST} says {said[name]:,}."
                    )


def _verify_shard(
    dataset: Path, shard: ShardFile, manifest: DatasetManifest, *, counts: Counter[str]
) -> Iterator[str]:
    """As `verify`, for one file; `counts` gets the tokens of its examples."""
    path = dataset / shard.name
    if not path.exists():
        yield f"{shard.name} is missing."
        return
    is_of_its_size = path.stat().st_size == shard.bytes
    if path.is_file() and not (is_of_its_size and sha256_of(path) == shard.sha256):
        yield f"{shard.name} is not the file that the manifest describes."
    batches: Iterable[list[Item]] = []
    if shard.name.startswith(f"{DOCUMENTS}/"):
        tokens = read_tokens(dataset, shard, manifest, config=manifest.config)
        if isinstance(tokens, CorruptRecord):
            batches = [[tokens]]
        else:
            examples = len(sequences_of_epoch(tokens, 0, config=manifest.config))
            if examples != shard.examples:
                yield (
                    f"{shard.name}: its first epoch has {examples:,} examples, and "
                    f"{MANIFEST} says {shard.examples:,}."
                )
    else:
        batches = read_shard(dataset, shard, manifest)
    for items in batches:
        records = [item for item in items if isinstance(item, bytes)]
        for item in items:
            if isinstance(item, CorruptRecord) and item.number is not None:
                yield f"{shard.name}: {item.sentence}."
        if records:
            columns = decode_columns(records, manifest.config.record_layout)
            counts["tokens"] += len(columns["input_ids"].values)
            counts["masked_tokens"] += len(columns["masked_lm_ids"].values)


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
