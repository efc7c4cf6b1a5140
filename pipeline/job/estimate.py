"""What a job will make and cost, estimated by doing a small part of it."""

import dataclasses
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from pipeline.core.documents import ReadingCounts, ShardDocument, number_of
from pipeline.dataset.shard import Shard, plan_shards, write_shard
from pipeline.job.plan import copies_that_go
from pipeline.noise.decontamination import kept_runs, runs_of
from pipeline.noise.look import Looker, bounds_for, sum_up
from pipeline.noise.near_copies import BANDS, signature, word_hashes
from pipeline.reading.formats import FilePart, InputFile
from pipeline.reading.read import Chunk, hash_document, plan_chunks, read_texts, shard_documents
from pipeline.storage.files import open_binary
from pipeline.storage.lines import decompressed, read_blocks
from pipeline.vocabulary.tokenizer import Tokenizer
from schemas.config import ResolvedDataConfig
from schemas.files import scratch_folder
from schemas.layout import TRAIN

# The sample: this many places in the inputs, with about this much text at each.
PLACES = 6
PLACE_BYTES = 1 << 19

# Where a file cannot be divided, a place is its beginning, up to this much text.
BEGINNING_BYTES = 4 << 20

# Several workers share the memory bus and do not end at one time.
SPEED_OF_SEVERAL = 0.85

# One copy of the sample is made, and then this many, to find the cost of one more.
MORE_COPIES = 4

# Seconds of a core for a megabyte of text, once and for each copy, and how much work
# each worker must have to be worth starting.
READING_SECONDS, COPY_SECONDS = 0.11, 0.013
WORTH_STARTING_SECONDS = 1.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Estimate:
    """A job before it runs.

    Attributes:
        sample_bytes: Input that was read for it, as if uncompressed.
        examples: Of the training split, all copies; of an epoch, if made on the fly.
        stored_bytes: TFRecord files, if examples are stored.
        document_bytes: TFRecord files, if examples are made on the fly.
        waiting_bytes: On disk while the job runs: documents that wait, and what is kept
            of them to find near-copies and held-out text.
        cpu_seconds: Work on a core of this machine.
        start_seconds: Until a process is ready to work.
        slowness: Seconds that go by for each of work, on a machine with other work.
        look: What the sample shows of the text, see `pipeline.noise.look.sum_up`.
    """

    sample_bytes: int
    examples: int
    stored_bytes: int
    document_bytes: int
    waiting_bytes: int
    cpu_seconds: float
    start_seconds: float
    slowness: float
    look: dict[str, Any]

    def seconds(self, workers: int) -> float:
        """Wall time on this machine.

        >>> Estimate(sample_bytes=0, examples=0, stored_bytes=0, document_bytes=0,
        ...          waiting_bytes=0, cpu_seconds=17, start_seconds=1.5, slowness=2.0, look={},
        ...          ).seconds(2)
        21.5
        """
        work = self.slowness * self.cpu_seconds
        if workers == 1:
            return self.start_seconds + work
        # The workers start while the process that gives them work does.
        return self.start_seconds + work / (workers * SPEED_OF_SEVERAL)


def busy_workers(text_bytes: int, *, copies: int) -> int:
    """How many worker processes have enough to do to be worth starting.

    >>> busy_workers(9_300_000, copies=10), busy_workers(100_000_000, copies=10)
    (2, 24)
    """
    work = text_bytes / 1e6 * (READING_SECONDS + copies * COPY_SECONDS)
    return max(1, int(work / WORTH_STARTING_SECONDS))


def estimate(
    files: list[InputFile], config: ResolvedDataConfig, *, tokenizer: Tokenizer
) -> Estimate:
    """Do a sample of a job and extrapolate."""
    start_seconds = _start_seconds()
    files = measured_sizes(files)
    start_wall, start = time.perf_counter(), time.process_time()
    bounds = bounds_for(0)
    looker = Looker(bounds)
    documents, sample_bytes = read_sample(files, looker)
    plan, kept_bytes = plan_shards(config, files), 0
    for document in documents if copies_that_go(config, plan) else ():
        number, words = number_of(document.id), word_hashes(document.text)
        if made := signature(words):
            kept_bytes += (3 + BANDS) * words.itemsize + made.sketch.nbytes
        if plan.eval_bound:
            runs = runs_of(words, document.text)
            kept = kept_runs(number, runs, is_held_out=plan.is_held_out(number))
            kept_bytes += sum(values.nbytes for values in kept)
    reading = time.process_time() - start
    stored = dataclasses.replace(config, examples="stored", dupe_factor=1)
    more = dataclasses.replace(stored, dupe_factor=MORE_COPIES)
    on_the_fly = dataclasses.replace(config, examples="on-the-fly")
    (one, one_seconds), (_, more_seconds), (unmade, unmade_seconds) = (
        _write(documents, made, tokenizer=tokenizer) for made in (stored, more, on_the_fly)
    )
    sample_wall = time.perf_counter() - start_wall
    sample_cpu = time.process_time() - start
    copying = max(0.0, more_seconds - one_seconds) / (MORE_COPIES - 1)
    copies = config.dupe_factor
    scale = sum(file.text_bytes for file in files) / max(1, sample_bytes)
    text_bytes = sum(len(document.text.encode()) for document in documents)
    making = max(0.0, one_seconds - copying) + copies * copying
    if config.examples == "on-the-fly":
        making = unmade_seconds
    return Estimate(
        sample_bytes=sample_bytes,
        examples=round(scale * config.stored_copies * one["examples"]),
        stored_bytes=round(scale * copies * one["bytes"]),
        document_bytes=round(scale * unmade["bytes"]),
        waiting_bytes=round(scale * (text_bytes + kept_bytes)),
        cpu_seconds=scale * (reading + making),
        start_seconds=start_seconds,
        slowness=max(1.0, sample_wall / sample_cpu),
        look=sum_up([looker.result()], bounds, is_held_out=lambda number: False),
    )


def _start_seconds() -> float:
    """How long a process takes to import what a job needs, measured on one."""
    start = time.perf_counter()
    program = "import pipeline.job.make_data"
    subprocess.run(
        [sys.executable, "-P", "-W", "ignore", "-c", program],
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return time.perf_counter() - start


def measured_sizes(files: list[InputFile]) -> list[InputFile]:
    """The files, with the size of their text as a sample of the largest has it."""

    def is_packed(file: InputFile) -> bool:
        return file.text_bytes > file.bytes and not file.group_bytes

    packed = sorted(filter(is_packed, files), key=lambda file: -file.bytes)
    ratios = {}
    for path in (file.path for file in packed[:PLACES]):
        # How many bytes each of its first bytes decompresses to.
        with closing(open_binary(path)) as opened:
            produced = 0
            for block in decompressed(opened, block_bytes=1 << 14):
                produced += len(block)
                if produced >= BEGINNING_BYTES:
                    break
            ratios[path] = produced / max(1, opened.tell())
    usual = sum(ratios.values()) / max(1, len(ratios))
    return [
        file._replace(text_bytes=round(file.bytes * ratios.get(file.path, usual)))
        if is_packed(file)
        else file
        for file in files
    ]


def read_sample(files: list[InputFile], looker: Looker) -> tuple[list[ShardDocument], int]:
    """Documents from places all over the inputs, and how much input they were."""
    chunks = plan_chunks(files, chunk_bytes=PLACE_BYTES)
    step = max(1, len(chunks) // PLACES)
    documents: list[ShardDocument] = []
    sample_bytes = 0
    with scratch_folder("plan") as folder:
        for chunk in chunks[::step][:PLACES]:
            parts = tuple(_beginning(part, folder) for part in chunk.parts)
            for document, language in read_texts(Chunk(0, parts), counts=ReadingCounts()):
                document_id = hash_document(document)
                looker.see(number_of(document_id), document)
                documents += shard_documents(document, language=language, document_id=document_id)
            sample_bytes += sum(part.text_bytes for part in parts)
    return documents, sample_bytes


def _beginning(part: FilePart, folder: Path) -> FilePart:
    """A part of a file; of a large file that cannot be divided, its beginning."""
    file = part.file
    if part.text_bytes <= BEGINNING_BYTES or file.format.startswith("parquet"):
        return part
    head = bytearray()
    blocks = read_blocks(file.path, start=part.start, end=part.end)
    with closing(blocks):
        for block in blocks:
            head += block
            if len(head) >= BEGINNING_BYTES:
                break
    path = folder / f"{len(list(folder.iterdir()))}"
    path.write_bytes(head)
    return FilePart(file._replace(path=str(path)), 0, None, len(head))


def _write(
    documents: list[ShardDocument], config: ResolvedDataConfig, *, tokenizer: Tokenizer
) -> tuple[dict[str, Any], float]:
    """The file of the first copy, and the CPU time of all, in seconds."""
    start = time.process_time()
    shard = Shard(split=TRAIN, index=0, num_shards=1)
    with scratch_folder("plan") as folder:
        sidecar = write_shard(documents, shard, tokenizer=tokenizer, config=config, output=folder)
    return sidecar["files"][0], time.process_time() - start
