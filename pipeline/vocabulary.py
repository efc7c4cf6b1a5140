"""Text becomes a SentencePiece model with ALBERT's pieces and normalization inside."""

import dataclasses
import functools
import io
import multiprocessing
import os
import re
import signal
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, NamedTuple

import sentencepiece

from pipeline.hf_tokenizer import tokenizer_config, tokenizer_json
from pipeline.inputs import InputFile
from pipeline.normalization import albert_normalization, rules_tsv
from pipeline.sampling import (
    MOST_HELD_OUT,
    KeyedSentence,
    Sample,
    SplitSample,
    sample_split,
)
from pipeline.splits import Split
from pipeline.statistics import drops_and_changes
from pipeline.tokenizer import SPACE, Tokenizer
from schemas.config import VocabConfig
from schemas.errors import AlbertError
from schemas.json_file import write_json, write_text
from schemas.layout import (
    HF_TOKENIZER,
    HF_TOKENIZER_CONFIG,
    MANIFEST,
    SPM_MODEL,
    SPM_VOCAB,
)
from schemas.special_tokens import CLS, MASK, PAD, SEP, UNK, UNK_ID, USER_SYMBOLS
from schemas.whole_file import whole_file

# The number of threads decides the pieces, so it is the same everywhere; on few cores
# sixteen cost almost nothing.
_THREADS = 16

# Resident memory and time of the training for each byte of the sample, measured on two
# cores.
_MEMORY_PER_BYTE = 21
_SECONDS_PER_BYTE = 0.5e-6

# The names, relative to the training's own folder, are written into the model file.
_RULES = "normalization.tsv"
_SENTENCES = "sentences.txt"

_MOST_SENTENCE_BYTES = 1 << 16


class SampledText(NamedTuple):
    """The sentences to train on, the ones held out, and what was met on the way."""

    train: list[KeyedSentence]
    held_out: list[KeyedSentence]
    counts: Counter[str]

    @property
    def training_memory(self) -> int:
        """Bytes that training on the sample will need, about."""
        return _MEMORY_PER_BYTE * self._bytes()

    @property
    def training_seconds(self) -> float:
        """Time that training on the sample will take, about."""
        return _SECONDS_PER_BYTE * self._bytes()

    def _bytes(self) -> int:
        return sum(len(sentence.text.encode()) for sentence in self.train)


def sample_sentences(
    splits: list[Split],
    config: VocabConfig,
    *,
    workers: int,
    on_split: Callable[[Split], None] = lambda split: None,
) -> SampledText:
    """A sample of the sentences of all splits, in the order of their keys.

    Args:
        splits: What to read.
        config: Size of the sample and seed.
        workers: Processes that read.
        on_split: Called when a split has been read.

    Raises:
        AlbertError: There is no sentence, or a worker was killed.
    """
    train, held_out = Sample(config.sample_sentences), Sample(MOST_HELD_OUT)
    counts: Counter[str] = Counter()
    read = functools.partial(
        sample_split, size=config.sample_sentences, seed=config.seed
    )
    for split, result in _map_splits(read, splits, workers=workers, sample=train):
        train.add(result.train)
        held_out.add(result.held_out)
        counts.update(result.counts)
        on_split(split)
    sentences = train.sorted()
    if not sentences:
        raise AlbertError("The inputs hold no text to train on.")
    return SampledText(sentences, held_out.sorted(), counts)


def _map_splits(
    read: Callable[..., SplitSample],
    splits: list[Split],
    *,
    workers: int,
    sample: Sample,
) -> Iterator[tuple[Split, SplitSample]]:
    """Read splits in other processes, a few at a time, in the order they finish."""
    waiting = list(reversed(splits))
    running: dict[Future[SplitSample], Split] = {}
    with _processes(min(workers, len(splits))) as pool:
        while waiting or running:
            while waiting and len(running) <= workers:
                split = waiting.pop()
                # The bound falls while splits are read, and with it what they return.
                running[pool.submit(read, split, bound=sample.bound)] = split
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), _result(future)


def _processes(count: int) -> ProcessPoolExecutor:
    """Fresh processes that Ctrl-C ends at once, also inside SentencePiece."""
    return ProcessPoolExecutor(
        max_workers=count,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=signal.signal,
        initargs=(signal.SIGINT, signal.SIG_DFL),
    )


def _result(future: Future[Any]) -> Any:
    try:
        return future.result()
    except BrokenProcessPool:
        raise AlbertError(
            "A worker process was killed, perhaps for want of memory; "
            "try fewer --workers or a smaller --sample-sentences."
        ) from None


def train_vocabulary(sentences: list[KeyedSentence], config: VocabConfig) -> bytes:
    """Train a SentencePiece model in a process of its own.

    Raises:
        AlbertError: The text is too small for the size asked for (says which size
            works), or the process was killed.
    """
    with tempfile.TemporaryDirectory(prefix="albert-vocab-") as folder:
        normalize = albert_normalization(
            cased=config.cased, keep_accents=config.keep_accents
        )
        Path(folder, _RULES).write_text(rules_tsv(normalize), encoding="utf-8")
        with Path(folder, _SENTENCES).open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{sentence.text}\n" for sentence in sentences)
        with _processes(1) as pool:
            model: bytes = _result(pool.submit(_train, folder, config))
    return model


def trainer_settings(config: VocabConfig, *, rules: str) -> dict[str, Any]:
    """What SentencePiece is asked for, whatever it reads and writes.

    Args:
        config: Of the vocabulary.
        rules: The file of the normalization rules.
    """
    return {
        "model_type": "unigram",
        "vocab_size": config.vocab_size,
        "character_coverage": config.character_coverage,
        "normalization_rule_tsv": rules,
        "pad_id": 0,
        "unk_id": 1,
        "bos_id": -1,
        "eos_id": -1,
        "pad_piece": PAD,
        "unk_piece": UNK,
        "control_symbols": [CLS, SEP, MASK],
        "user_defined_symbols": list(USER_SYMBOLS),
        "max_sentence_length": _MOST_SENTENCE_BYTES,
        "num_threads": _THREADS,
    }


def _train(folder: str, config: VocabConfig) -> bytes:
    os.chdir(folder)
    # SentencePiece reports its progress there; what matters comes as an exception.
    os.dup2(os.open("log.txt", os.O_WRONLY | os.O_CREAT), 2)
    model = io.BytesIO()
    try:
        with Path(_SENTENCES).open(encoding="utf-8", newline="\n") as sentences:
            sentencepiece.SentencePieceTrainer.Train(
                sentence_iterator=(line.rstrip("\n") for line in sentences),
                model_writer=model,
                **trainer_settings(config, rules=_RULES),
            )
    except RuntimeError as error:
        raise AlbertError(explain(str(error), vocab_size=config.vocab_size)) from None
    return model.getvalue()


def explain(message: str, *, vocab_size: int) -> str:
    """What an error of the trainer means, and what to do.

    >>> explain("Vocabulary size too high (30000). Please set it to a value <= 8300.",
    ...         vocab_size=30000)
    'The text is too small for --vocab-size 30000: it gives at most 8300 pieces; \
use --vocab-size 8300 or add text.'
    """
    if found := re.search(r"too high \(\d+\).*<= (\d+)", message):
        return (
            f"The text is too small for --vocab-size {vocab_size}: it gives at most "
            f"{found[1]} pieces; use --vocab-size {found[1]} or add text."
        )
    if found := re.search(r"required_chars\. \d+ vs (\d+)", message):
        return (
            f"--vocab-size {vocab_size} is too small: the text has characters for "
            f"{found[1]} pieces; use a size above that or a smaller "
            "--character-coverage."
        )
    if "sentences_.empty()" in message:
        return "The inputs hold no text to train on."
    return f"SentencePiece failed: {message}"


def vocabulary_card(
    tokenizer: Tokenizer, held_out: list[KeyedSentence]
) -> dict[str, Any]:
    """How the vocabulary does on sentences it was not trained on."""
    texts = [sentence.text for sentence in held_out]
    pieces = tokenizer.encode(texts)
    words = sum(len(tokenizer.normalize(text).split(SPACE)) - 1 for text in texts)
    count = sum(map(len, pieces))
    unknown = sum(sentence.count(UNK_ID) for sentence in pieces)
    return {
        "held_out_sentences": len(texts),
        "unknown_rate": round(unknown / count, 6) if count else 0.0,
        "pieces_per_word": round(count / words, 4) if words else 0.0,
    }


def vocabulary_listing(model: bytes) -> str:
    """`spiece.vocab`: each piece and its score, one a line."""
    tokenizer = Tokenizer(model)
    return "".join(
        f"{tokenizer.piece(i)}\t{tokenizer.score(i):g}\n"
        for i in range(tokenizer.vocab_size)
    )


def vocabulary_manifest(
    model: bytes, text: SampledText, config: VocabConfig, files: list[InputFile]
) -> dict[str, Any]:
    """What the vocabulary is: settings, inputs, sample and card."""
    tokenizer = Tokenizer(model)
    dropped, changed = drops_and_changes(text.counts)
    return {
        **_what_it_is(tokenizer, dataclasses.asdict(config)),
        "inputs": [file.describe() for file in files],
        "documents": text.counts["read"],
        "sentences": text.counts["sentences"],
        "trained_on": len(text.train),
        "card": vocabulary_card(tokenizer, text.held_out),
        "dropped": dropped,
        "changed": changed,
    }


def imported_manifest(model: bytes, before: bytes, **config: bool) -> dict[str, Any]:
    """What a vocabulary from elsewhere is.

    Args:
        model: As it is written.
        before: As it was found.
        config: What it keeps of a text, under the names of `VocabConfig`.
    """
    return {
        **_what_it_is(Tokenizer(model), config),
        "imported_from": {"sha256": Tokenizer(before).sha256},
    }


def _what_it_is(tokenizer: Tokenizer, config: dict[str, Any]) -> dict[str, Any]:
    return {
        "format": "albert-vocabulary",
        "format_version": 1,
        "config": config,
        "vocabulary": {
            "file": SPM_MODEL,
            "sha256": tokenizer.sha256,
            "size": tokenizer.vocab_size,
        },
    }


def write_vocabulary(model: bytes, manifest: dict[str, Any], *, output: Path) -> None:
    """Write all files of a vocabulary, the manifest last.

    Raises:
        AlbertError: A file cannot be written.
    """
    with whole_file(output / SPM_MODEL) as file:
        file.write(model)
    write_text(output / SPM_VOCAB, vocabulary_listing(model))
    write_json(output / HF_TOKENIZER, tokenizer_json(model))
    write_json(output / HF_TOKENIZER_CONFIG, tokenizer_config())
    write_json(output / MANIFEST, manifest)
