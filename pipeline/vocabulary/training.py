"""Text becomes a SentencePiece model with ALBERT's pieces and normalization inside."""

import contextlib
import functools
import io
import math
import multiprocessing
import os
import re
import signal
import tempfile
from collections.abc import Callable, Iterable, Iterator, MutableSequence, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, NamedTuple

import sentencepiece

from pipeline.core.counts import ReadingCounts, left_out
from pipeline.reading.chunks import Chunk
from pipeline.storage.lines import cut_position
from pipeline.vocabulary.normalization import albert_normalization, rules_tsv
from pipeline.vocabulary.sampling import (
    MAX_HELD_OUT,
    ChunkSample,
    KeyedSentence,
    Sample,
    sample_chunk,
)
from schemas.config import LEAST_PIECES, VocabConfig
from schemas.errors import AlbertError
from schemas.special_tokens import CLS, MASK, PAD, SEP, UNK, USER_SYMBOLS
from schemas.whole_file import whole_file

# The pieces depend on the number of threads, so it is the same everywhere; on few cores
# sixteen cost almost nothing.
_THREADS = 16

# Resident memory of the training for each byte of the sample.
_MEMORY_PER_BYTE = 21

# Time of the training, on two cores: SentencePiece counts the words of the sample and
# trains on the different ones, of which longer text has ever fewer for each byte.
_SECONDS_OF_A_MEGABYTE = 2.1
_GROWTH_OF_TIME = 0.75

# The names, relative to the training's own folder, are written into the model file.
_RULES = "normalization.tsv"
_SENTENCES = "sentences.txt"

# What SentencePiece says of its progress.
_LOG = "log.txt"
# How often the progress of other processes is looked at.
_LOOK_SECONDS = 0.5

# Before SentencePiece prunes its candidates it has to find them.
_SHARE_OF_FINDING = 0.3

_MAX_SENTENCE_BYTES = 1 << 16

# Share of the characters of the text that get a piece of their own.
_CHARACTER_COVERAGE = 0.99995

_SPAWN = multiprocessing.get_context("spawn")
# In a process that reads text: memory that it shares with the one that started it.
_read_bytes: MutableSequence[int] | None = None


class SampledText(NamedTuple):
    """The sentences to train on, the ones held out, and what was met on the way."""

    train: list[KeyedSentence]
    held_out: list[KeyedSentence]
    counts: ReadingCounts

    @property
    def training_memory(self) -> int:
        """Bytes that training on the sample will need, about."""
        return _MEMORY_PER_BYTE * self._bytes()

    @property
    def training_seconds(self) -> float:
        """Time that training on the sample will take, about."""
        growth: float = (self._bytes() / 1e6) ** _GROWTH_OF_TIME
        return _SECONDS_OF_A_MEGABYTE * growth

    def _bytes(self) -> int:
        return sum(len(sentence.text.encode()) for sentence in self.train)


def sample_sentences(
    chunks: list[Chunk],
    config: VocabConfig,
    *,
    workers: int,
    on_progress: Callable[[int], None] = lambda text_bytes: None,
) -> SampledText:
    """A sample of the sentences of all chunks, in the order of their keys.

    Args:
        chunks: What to read.
        config: Size of the sample and seed.
        workers: Processes that read.
        on_progress: Called every half second with the bytes of text that were read,
            about; at the end these are all that the chunks were estimated to have.

    Raises:
        AlbertError: There is no sentence, or a worker was killed.
    """
    train, held_out = Sample(config.sample_sentences), Sample(MAX_HELD_OUT)
    counts = ReadingCounts()
    read = functools.partial(_read, size=config.sample_sentences, seed=config.seed)
    for result in _map_chunks(
        read, chunks, workers=workers, sample=train, on_progress=on_progress
    ):
        train.add(result.train)
        held_out.add(result.held_out)
        counts.add(result.counts)
    sentences = train.sorted()
    if not sentences:
        reasons = left_out(counts.dropped)
        raise AlbertError(f"The inputs hold no text to train on{reasons}.")
    return SampledText(sentences, held_out.sorted(), counts)


def _map_chunks(
    read: Callable[..., ChunkSample],
    chunks: list[Chunk],
    *,
    workers: int,
    sample: Sample,
    on_progress: Callable[[int], None],
) -> Iterator[ChunkSample]:
    """Read chunks in other processes, a few at a time, in the order they finish."""
    waiting = list(reversed(chunks))
    running: dict[Future[ChunkSample], Chunk] = {}
    done = 0
    # Each place is written by the one process that reads its chunk.
    read_bytes = _SPAWN.RawArray("q", len(chunks))
    with _processes(min(workers, len(chunks)), read_bytes) as pool:
        while waiting or running:
            while waiting and len(running) <= workers:
                chunk = waiting.pop()
                # The bound falls while chunks are read, and with it what they return.
                running[pool.submit(read, chunk, bound=sample.bound)] = chunk
            finished, _ = wait(running, _LOOK_SECONDS, return_when=FIRST_COMPLETED)
            for future in finished:
                done += running.pop(future).text_bytes
                yield _result(future)
            on_progress(done + text_being_read(running.values(), read_bytes))


def text_being_read(chunks: Iterable[Chunk], read_bytes: Sequence[int]) -> int:
    """Bytes of text read of some chunks, at most as many as were estimated.

    Args:
        chunks: Those that are being read.
        read_bytes: The bytes that were read of each, by its number.
    """
    return sum(min(read_bytes[chunk.number], chunk.text_bytes) for chunk in chunks)


@contextlib.contextmanager
def _processes(
    count: int, read_bytes: MutableSequence[int] | None = None
) -> Iterator[ProcessPoolExecutor]:
    """Fresh processes that an error or a signal ends at once, also in SentencePiece.

    Args:
        count: How many.
        read_bytes: Where those that read text say how much, by the number of the chunk.
    """
    pool = ProcessPoolExecutor(
        max_workers=count, mp_context=_SPAWN, initializer=_begin, initargs=(read_bytes,)
    )
    try:
        yield pool
    except BaseException:
        # The pool itself would wait until they have done all that they were given.
        for process in list(pool._processes.values()):
            process.kill()
            process.join()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _begin(read_bytes: MutableSequence[int] | None) -> None:
    global _read_bytes
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _read_bytes = read_bytes


def _read(chunk: Chunk, *, size: int, bound: int, seed: int) -> ChunkSample:
    """The candidates of one chunk for a sample; says on the way how much was read."""

    def on_read(text_bytes: int) -> None:
        if _read_bytes is not None:
            _read_bytes[chunk.number] += text_bytes

    return sample_chunk(chunk, size=size, bound=bound, seed=seed, on_read=on_read)


def _result(future: Future[Any]) -> Any:
    try:
        return future.result()
    except BrokenProcessPool:
        raise AlbertError(
            "A worker process was killed, perhaps for want of memory; "
            "try fewer --workers or a smaller --sample-sentences."
        ) from None


def train_vocabulary(
    sentences: list[KeyedSentence],
    config: VocabConfig,
    *,
    on_progress: Callable[[float], None] = lambda share: None,
) -> bytes:
    """Train a SentencePiece model in a process of its own.

    Args:
        sentences: The sample.
        config: Of the vocabulary.
        on_progress: Called every half second with the share that is done, about.

    Raises:
        AlbertError: The text is too small for the size asked for (says which size
            works), the folder for temporary files is full, or the process was killed.
    """
    with tempfile.TemporaryDirectory(prefix="albert-vocab-") as folder:
        normalize = albert_normalization(
            cased=config.cased, keep_accents=config.keep_accents
        )
        Path(folder, _RULES).write_text(rules_tsv(normalize), encoding="utf-8")
        with whole_file(Path(folder, _SENTENCES)) as file:
            file.writelines(
                part + b"\n" for each in sentences for part in trainable(each.text)
            )
        with _processes(1) as pool:
            training = pool.submit(_train, folder, config)
            while not wait([training], timeout=_LOOK_SECONDS).done:
                log = Path(folder, _LOG)
                said = log.read_text(errors="replace") if log.exists() else ""
                on_progress(trained_share(said, vocab_size=config.vocab_size))
            model: bytes = _result(training)
    return model


def trainable(sentence: str, *, limit: int = _MAX_SENTENCE_BYTES) -> Iterator[bytes]:
    """A sentence in parts that SentencePiece does not skip, cut at spaces.

    >>> list(trainable("one two three", limit=8))
    [b'one two ', b'three']
    """
    rest = sentence.encode()
    while len(rest) > limit:
        cut = cut_position(rest, limit)
        yield rest[:cut]
        rest = rest[cut:]
    yield rest


def trained_share(log: str, *, vocab_size: int) -> float:
    """How much of the training is done, by what SentencePiece says of it.

    It prunes its candidates by a quarter again and again, down to a tenth more than the
    size asked for; each time takes about as long.

    >>> log = "EM sub_iter=0 size=16000 obj=9 EM sub_iter=0 size=4000 obj=8"
    >>> round(trained_share(log, vocab_size=1000), 2)
    0.66
    """
    sizes = [int(size) for size in re.findall(r"EM sub_iter=\d+ size=(\d+)", log)]
    if not sizes:
        return 0.0
    wanted = 1.1 * vocab_size
    if sizes[0] <= wanted or sizes[-1] <= wanted:
        return 1.0
    pruned = math.log(sizes[0] / sizes[-1]) / math.log(sizes[0] / wanted)
    return _SHARE_OF_FINDING + (1 - _SHARE_OF_FINDING) * pruned


def trainer_settings(config: VocabConfig, *, rules: str) -> dict[str, Any]:
    """What SentencePiece is asked for, whatever it reads and writes.

    Args:
        config: Of the vocabulary.
        rules: The file of the normalization rules.
    """
    return {
        "model_type": "unigram",
        "vocab_size": config.vocab_size,
        "character_coverage": _CHARACTER_COVERAGE,
        "normalization_rule_tsv": rules,
        "pad_id": 0,
        "unk_id": 1,
        "bos_id": -1,
        "eos_id": -1,
        "pad_piece": PAD,
        "unk_piece": UNK,
        "control_symbols": [CLS, SEP, MASK],
        "user_defined_symbols": list(USER_SYMBOLS),
        "max_sentence_length": _MAX_SENTENCE_BYTES,
        "num_threads": _THREADS,
    }


def _train(folder: str, config: VocabConfig) -> bytes:
    os.chdir(folder)
    # SentencePiece reports its progress there; what matters comes as an exception.
    os.dup2(os.open(_LOG, os.O_WRONLY | os.O_CREAT), 2)
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
        smaller = f"use --vocab-size {found[1]} or "
        return (
            f"The text is too small for --vocab-size {vocab_size}: it gives at most "
            f"{found[1]} pieces; {smaller if int(found[1]) >= LEAST_PIECES else ''}"
            "add text."
        )
    if found := re.search(r"required_chars\. \d+ vs (\d+)", message):
        return (
            f"--vocab-size {vocab_size} is too small: the text has characters for "
            f"{found[1]} pieces; use a size above that."
        )
    if "sentences_.empty()" in message:
        return "The inputs hold no text to train on."
    return f"SentencePiece failed: {message}"
