"""What make-data says: of a data set that is planned, is being made, was made."""

import math
import shlex
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.support.console import Console
from pipeline.storage.output_folder import unused
from schemas.config import DataConfig
from schemas.layout import EVAL, TRAIN
from schemas.manifest import DatasetManifest
from schemas.readable import counted, duration, prefixed

if TYPE_CHECKING:
    from pipeline.job.plan import Job
    from pipeline.reading.formats import InputFile

# With fewer held-out examples, accuracies are uncertain by more than 7 points.
ENOUGH_HELD_OUT = 200
# A measure on fewer is one of these documents; of few documents an eighth is enough.
ENOUGH_DOCUMENTS, ENOUGH_OF_FEW = 5, 1 / 8
# The least share that is advised for a text of which the default holds out too little.
SMALL_TEXT_FRACTION = 0.05
# How often a share that is advised may hold out fewer.
MAY_FAIL = 0.02
# The largest share of the documents that is ever advised to be held out.
GREATEST_SHARE = 0.5
# The largest value of --eval-fraction.
GREATEST_FRACTION = DataConfig.__dataclass_fields__["eval_fraction"].metadata["maximum"]

# Between two looks at how far a job is.
LOOK_SECONDS = 0.5


def plan_lines(job: "Job", inputs: "Iterable[InputFile]", *, workers: int) -> Iterator[str]:
    """What is to be expected of a job, measured on a sample of its inputs.

    Both sizes are told, with stored examples and with examples on the fly.
    """
    from pipeline.job.estimate import estimate
    from pipeline.noise.look import look_lines
    from pipeline.vocabulary.tokenizer import load_tokenizer

    config, shards = job.dataset.config, job.shards
    training = [file for file in inputs if not file.is_held_out]
    expected = estimate(training, config, tokenizer=load_tokenizer(job.model))
    is_on_the_fly = config.examples == "on-the-fly"
    copies = counted(config.stored_copies, "copy", "copies")
    yield (
        f"plan: {counted(len(job.chunks), 'chunk')} to read, "
        f"{counted(shards.train_shards, 'shard')} to train on and "
        f"{shards.eval_shards:,} held out, "
        f"{'as documents' if is_on_the_fly else copies}"
    )
    examples = counted(expected.examples, "example")
    stored = prefixed(expected.stored_bytes, "B")
    documents = prefixed(expected.document_bytes, "B")
    made = f"{examples} in {stored} ({documents} with --examples on-the-fly)"
    if is_on_the_fly:
        copies = counted(config.dupe_factor, "stored copy", "stored copies")
        made = (
            f"{examples} an epoch, made of documents in {documents} ({copies} would take {stored})"
        )
    waiting = prefixed(expected.waiting_bytes, "B")
    yield f"about {made}, and {waiting} of disk while it runs"
    yield (
        f"about {duration(expected.seconds(workers))} with "
        f"{counted(workers, 'worker')} on this machine, "
        f"{duration(expected.cpu_seconds)} of a core, judging by "
        f"{prefixed(expected.sample_bytes, 'B')} of the text"
    )
    yield from look_lines(expected.look, job.dataset.inputs)


@contextmanager
def shown_progress(job: "Job", console: Console) -> Iterator[None]:
    """A bar for reading and, once that has ended, one for writing.

    They move twice a second, by what another thread sees of the output.
    """
    from pipeline.job.resume import ProgressReader

    reader = ProgressReader(job.output, work=job.shared_folder)
    shards = len(job.shards.shard_numbers())
    console.start("reading", total=job.text_bytes, unit="B")
    has_ended = threading.Event()

    def watch() -> None:
        is_reading = True
        while not has_ended.wait(LOOK_SECONDS):
            progress = reader.poll()
            if is_reading:
                note = counted(progress.documents, "document")
                console.to(min(progress.read_bytes, job.text_bytes), note=note)
                if progress.read_bytes < job.text_bytes:
                    continue
                # Only now, so that the time left is that of writing.
                console.start("writing", total=shards, unit="shard")
                is_reading = False
            examples = counted(progress.examples, "example")
            size = prefixed(progress.written_bytes, "B")
            console.to(progress.shards, note=f"{examples}, {size}")

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        has_ended.set()
        watcher.join()
        console.close()


def closing_lines(manifest: DatasetManifest, output: Path | str, seconds: float) -> Iterator[str]:
    """What was made, what to know of its text, and what to type next."""
    from pipeline.core.documents import describe_counts
    from pipeline.noise.look import look_lines

    train, held_out = manifest.splits[TRAIN], manifest.splits[EVAL]
    copies = f" in {counted(len(train['copies']), 'copy', 'copies')},"
    if manifest.has_documents:
        copies = "; in the first epoch"
    yield (
        f"{output}: {counted(train['documents'], 'document')}{copies} "
        f"{counted(_sum_of(train, 'examples'), 'example')}, "
        f"{counted(_sum_of(train, 'tokens'), 'token')}; "
        f"{counted(_sum_of(held_out, 'examples'), 'held-out example')} of "
        f"{counted(held_out['documents'], 'document')}; {duration(seconds)}"
    )
    yield from describe_counts(manifest.dropped, manifest.changed)
    yield from look_lines(manifest.text, manifest.inputs)
    if advice := eval_advice(manifest):
        yield advice
    yield (
        "Without --budget the next command would train ALBERT base as its authors did, on "
        "gigabytes of text and many GPUs; on a CPU that takes months to years, and needs --yes."
    )
    data = shlex.quote(str(output))
    yield f"next: albert pretrain --data {data} --output {unused('run')} --budget 1h"


def _sum_of(split: dict[str, Any], what: str) -> int:
    """Examples or tokens of all copies of a split."""
    return sum(copy[what] for copy in split["copies"])


def eval_advice(manifest: DatasetManifest) -> str:
    """What to say of a held-out split too small to measure on; empty if it is not."""
    fraction, split = manifest.config.eval_fraction, manifest.splits[EVAL]
    has_text = any(one.get("split") == EVAL for one in manifest.inputs)
    examples, documents = _sum_of(split, "examples"), split["documents"]
    if has_text and examples < ENOUGH_HELD_OUT:
        return (
            f"Only {counted(examples, 'held-out example')}, few to measure on; more "
            "--eval-text would give more."
        )
    train = manifest.splits[TRAIN]
    trained = train["documents"]
    of_each = train["copies"][0]["examples"] / trained
    missing = max(
        _wanted_documents(documents + trained) - documents,
        math.ceil((ENOUGH_HELD_OUT - examples) / of_each),
    )
    if not fraction or missing <= 0:
        return ""
    held_out = "No document is held out, to measure on"
    if documents:
        held_out = (
            f"Only {counted(examples, 'held-out example')} of "
            f"{counted(documents, 'document')}, few to measure on"
        )
    said = f"{held_out}; make the data again with --overwrite"
    # A larger share holds out the same documents and more of the others.
    more = enough_held_out(trained, needed=missing)
    share = math.ceil(10_000 * (fraction + (1 - fraction) * more)) / 10_000
    if share > GREATEST_SHARE:
        which = "one of these or another" if manifest.inputs[1:] else "not this one"
        said += f" --eval-text FILE, which holds out a file of your own, {which}"
        if documents + trained == 1:
            said += (
                "; or, if the file holds several documents, put a line <|endoftext|> between "
                "them, so that some can be held out"
            )
        return f"{said}."
    documents += round(more * trained)
    examples += round(more * trained * of_each)
    return (
        f"{said} --eval-fraction {share:g}, to hold out about "
        f"{counted(documents, 'document')} with {counted(examples, 'example')}."
    )


def _wanted_documents(documents: int) -> int:
    return min(ENOUGH_DOCUMENTS, int(documents * ENOUGH_OF_FEW))


def advised_fraction(documents: int, first: Sequence[int]) -> float | None:
    """The share of a text to hold out, where the default would be too little.

    Args:
        first: The numbers of the documents that are held out first, in order.

    >>> advised_fraction(22, [1 << 60, 1 << 62]), advised_fraction(9_000, range(5))
    (0.2501, 0.05)
    >>> advised_fraction(100_000, range(5)), advised_fraction(1, [1 << 60])
    (None, None)
    """
    needed = max(1, _wanted_documents(documents))
    is_much = documents * DataConfig.eval_fraction >= ENOUGH_HELD_OUT
    if is_much or needed > min(GREATEST_SHARE * documents, len(first)):
        return None
    # A document is held out if its number, of 64 bits, is below the share of all.
    share = (10_000 * first[needed - 1] // (1 << 64) + 1) / 10_000
    return max(SMALL_TEXT_FRACTION, share) if share <= GREATEST_FRACTION else None


def enough_held_out(documents: int, *, needed: int) -> float:
    """The share of the documents that holds out as many as needed; all if none does.

    Each document is held out with the probability of this share. It is the smallest
    with which fewer than needed are hardly ever held out.

    >>> round(enough_held_out(10_000, needed=40), 4), enough_held_out(3, needed=4)
    (0.0054, 1.0)
    """
    from scipy.special import bdtri

    if needed > documents:
        return 1.0
    # What falls short of as many as needed is binomial.
    return float(bdtri(needed - 1, documents, MAY_FAIL))
