"""Text becomes a SentencePiece model with ALBERT's pieces and normalization inside."""

import dataclasses
import io
import math
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import sentencepiece

from pipeline.core.writing_systems import is_unspaced_text, without_loose_spaces
from pipeline.storage.lines import cut_position
from pipeline.vocabulary.normalization import normalization_of_text, normalize_character, rules_tsv
from pipeline.vocabulary.sampling import finished_of, processes
from pipeline.vocabulary.tokenizer import of_unspaced_text
from schemas.config import LEAST_PIECES, VocabConfig, suited_vocab_size
from schemas.errors import AlbertError
from schemas.example import CLS, MASK, PAD, SEP, SPACE, SPECIAL_TOKENS, UNK, USER_SYMBOLS
from schemas.files import scratch_folder, whole_file

# The pieces depend on the number of threads, so it is the same everywhere; on few cores
# sixteen cost almost nothing.
_THREADS = 16

# The names, relative to the training's own folder, are written into the model file.
_RULES = "normalization.tsv"
_SENTENCES = "sentences.txt"

# What SentencePiece says of its progress.
_LOG = "log.txt"

# Before SentencePiece prunes its candidates it has to find them.
_SHARE_OF_FINDING = 0.3

_MAX_SENTENCE_BYTES = 1 << 16

# Sentences that tell which characters a text has.
_LOOKED_AT = 10_000

# Characters of a token, about, of scripts with spaces and without.
_SPACED, _UNSPACED = 4, 1.5

# What SentencePiece says where a text has too few pieces.
_TOO_HIGH = r"too high \(\d+\).*<= (\d+)"

# Share of the characters of the text that get a piece of their own.
_CHARACTER_COVERAGE = 0.99995


def train_vocabulary(
    sentences: list[str],
    config: VocabConfig,
    *,
    language: str = "",
    may_be_smaller: bool = False,
    on_progress: Callable[[float], None] = lambda share: None,
) -> bytes:
    """Train a SentencePiece model in a process of its own.

    Args:
        language: Of all the text; empty if it is in several.
        may_be_smaller: Whether a text that is too small has as many pieces as suit it.
        on_progress: Called every half second with the share that is done, about.
    """
    with scratch_folder("vocab") as folder:
        # The sample is in random order.
        some = sentences[:_LOOKED_AT]
        normalize = normalization_of_text(
            some, cased=config.cased, keep_accents=bool(config.keep_accents), language=language
        )
        (folder / _RULES).write_text(rules_tsv(normalize), encoding="utf-8")
        is_unspaced = is_unspaced_text(some)
        if is_unspaced:
            sentences = list(map(without_loose_spaces, sentences))
        with whole_file(folder / _SENTENCES) as file:
            file.writelines(part + b"\n" for text in sentences for part in trainable(text))
        with processes(1) as pool:
            training = pool.submit(_train, folder, config, may_be_smaller=may_be_smaller)
            while not finished_of([training]):
                log = folder / _LOG
                said = log.read_text(errors="replace") if log.exists() else ""
                on_progress(trained_share(said, vocab_size=config.vocab_size))
            model = training.result()
    return of_unspaced_text(model) if is_unspaced else model


def suited_size(texts: list[str]) -> int:
    """How many pieces suit a text, enough for its characters.

    >>> suited_size(9 * ["He came late."])
    1000
    """
    per_token = _UNSPACED if is_unspaced_text(texts[:_LOOKED_AT]) else _SPACED
    return suited_vocab_size(
        round(sum(map(len, texts)) / per_token), characters=len(set().union(*texts))
    )


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


def _train(folder: Path, config: VocabConfig, *, may_be_smaller: bool) -> bytes:
    os.chdir(folder)
    # SentencePiece reports its progress there; what matters comes as an exception.
    os.dup2(os.open(_LOG, os.O_WRONLY | os.O_CREAT), 2)
    model = io.BytesIO()
    try:
        with Path(_SENTENCES).open(encoding="utf-8", newline="\n") as sentences:
            sentencepiece.SentencePieceTrainer.Train(
                sentence_iterator=(line.rstrip("\n") for line in sentences),
                model_writer=model,
                model_type="unigram",
                vocab_size=config.vocab_size,
                character_coverage=_CHARACTER_COVERAGE,
                normalization_rule_tsv=_RULES,
                pad_id=0,
                unk_id=1,
                bos_id=-1,
                eos_id=-1,
                pad_piece=PAD,
                unk_piece=UNK,
                control_symbols=[CLS, SEP, MASK],
                user_defined_symbols=list(USER_SYMBOLS),
                max_sentence_length=_MAX_SENTENCE_BYTES,
                num_threads=_THREADS,
            )
    except RuntimeError as error:
        texts = Path(_SENTENCES).read_text("utf-8").split("\n")
        size = smaller_size(str(error), texts, config)
        if may_be_smaller and size:
            smaller = dataclasses.replace(config, vocab_size=size)
            return _train(folder, smaller, may_be_smaller=False)
        asked = "a vocabulary" if may_be_smaller else f"--vocab-size {config.vocab_size}"
        raise AlbertError(failure_in_words(str(error), asked=asked, smaller=size)) from None
    return model.getvalue()


def smaller_size(message: str, texts: list[str], config: VocabConfig) -> int:
    """A size that suits a text too small for the one asked for, by the trainer's error; or 0."""
    if not (found := re.search(_TOO_HIGH, message)):
        return 0
    characters = "".join(
        normalize_character(c, cased=config.cased, keep_accents=bool(config.keep_accents))
        for c in set().union(*texts)
    )
    needed = len({SPACE, *characters, *USER_SYMBOLS}) + len(SPECIAL_TOKENS)
    # The last of all that are possible are parts of words seen once or twice.
    largest = int(found[1])
    size = min(largest, max(needed, min(suited_size(texts), largest * 3 // 4)))
    return size if size >= LEAST_PIECES else 0


def failure_in_words(message: str, *, asked: str, smaller: int) -> str:
    """What an error of the trainer means, and what to do.

    Args:
        asked: What was asked for.
        smaller: A size that suits the text; 0 where none does.

    >>> failure_in_words("Vocabulary size too high (30000). Please set it to a value <= 8300.",
    ...          asked="--vocab-size 30000", smaller=2000)
    'The text is too small for --vocab-size 30000: it gives at most 8300 pieces; \
use --vocab-size 2000, which suits it, or add text.'
    """
    if found := re.search(_TOO_HIGH, message):
        way_out = f"use --vocab-size {smaller}, which suits it, or " if smaller else ""
        return (
            f"The text is too small for {asked}: it gives at most {found[1]} pieces; "
            f"{way_out}add text."
        )
    if found := re.search(r"required_chars\. \d+ vs (\d+)", message):
        return (
            f"{asked} is too small: the text has characters for {found[1]} pieces; "
            "use a size above that."
        )
    if "sentences_.empty()" in message:
        return "The inputs hold no text to train on."
    return f"SentencePiece failed: {message}"
