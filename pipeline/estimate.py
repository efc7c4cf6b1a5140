"""What a job will make and cost, estimated by doing a small part of it."""

import dataclasses
import tempfile
import time
from collections import Counter

from pipeline.documents import ShardDocument
from pipeline.input_file import InputFile
from pipeline.readers import read_split
from pipeline.shards import Shard, write_shard
from pipeline.splits import Split, plan_splits
from pipeline.tokenizer import Tokenizer
from schemas.config import DataConfig
from schemas.layout import TRAIN

# The sample: so many places of the inputs, about so much text at each.
PLACES = 6
BYTES_AT_A_PLACE = 1 << 19

# Where a file cannot be divided, a place is its beginning, up to so much text. How much
# input that was is known of wikitext only by experience: two fifths of it are text.
MOST_AT_A_PLACE, WIKITEXT_SHARE = 8 << 20, 0.4

# Until the first split is read: importing Beam, and starting workers where there are
# several. Several workers share the memory bus and do not end at one time.
START_SECONDS, WORKER_START_SECONDS, SPEED_OF_SEVERAL = 1.0, 1.0, 0.85

# Of the sample are made one copy and so many, to tell the cost of one more.
MORE_COPIES = 4


@dataclasses.dataclass(frozen=True, kw_only=True)
class Estimate:
    """A job before it runs.

    Attributes:
        sample_bytes: Input that was read for it, as if uncompressed.
        examples: Of the training split, all copies.
        output_bytes: TFRecord files.
        waiting_bytes: Documents that wait on disk while the job runs.
        cpu_seconds: Work on a core of this machine.
    """

    sample_bytes: int
    examples: int
    output_bytes: int
    waiting_bytes: int
    cpu_seconds: float

    def seconds(self, workers: int) -> float:
        """Wall time on this machine.

        >>> Estimate(sample_bytes=0, examples=0, output_bytes=0, waiting_bytes=0,
        ...          cpu_seconds=17).seconds(2)
        12.0
        """
        if workers == 1:
            return START_SECONDS + self.cpu_seconds
        work = self.cpu_seconds / (workers * SPEED_OF_SEVERAL)
        return START_SECONDS + WORKER_START_SECONDS + work


def estimate(
    files: list[InputFile], config: DataConfig, *, tokenizer: Tokenizer
) -> Estimate:
    """Do a sample of a job and extrapolate.

    Args:
        files: See `pipeline.inputs.find_inputs`.
        config: Settings as resolved.
        tokenizer: The vocabulary.

    Raises:
        AlbertError: A file cannot be read.
    """
    start = time.process_time()
    documents, sample_bytes = read_sample(files)
    reading = time.process_time() - start
    one, one_seconds = _write(documents, config, tokenizer=tokenizer, copies=1)
    _, more_seconds = _write(documents, config, tokenizer=tokenizer, copies=MORE_COPIES)
    copying = max(0.0, more_seconds - one_seconds) / (MORE_COPIES - 1)
    copies = config.dupe_factor
    scale = sum(file.text_bytes for file in files) / max(1, sample_bytes)
    text_bytes = sum(len(document.text.encode()) for document in documents)
    seconds = reading + max(0.0, one_seconds - copying) + copies * copying
    return Estimate(
        sample_bytes=sample_bytes,
        examples=round(scale * copies * one["examples"]),
        output_bytes=round(scale * copies * one["bytes"]),
        waiting_bytes=round(scale * text_bytes),
        cpu_seconds=scale * seconds,
    )


def read_sample(files: list[InputFile]) -> tuple[list[ShardDocument], int]:
    """Documents from places all over the inputs, and how much input they were."""
    splits = plan_splits(files, split_bytes=BYTES_AT_A_PLACE)
    step = max(1, len(splits) // PLACES)
    documents: list[ShardDocument] = []
    sample_bytes = 0
    for split in splits[::step][:PLACES]:
        found, read = _read_start(split)
        documents += found
        sample_bytes += read
    return documents, sample_bytes


def _read_start(split: Split) -> tuple[list[ShardDocument], int]:
    """The first documents of a split, which may be a whole file, and their input."""
    found: list[ShardDocument] = []
    text_bytes = 0
    for document in read_split(split, counts=Counter()):
        found.append(document)
        text_bytes += len(document.text)
        if text_bytes > MOST_AT_A_PLACE:
            is_wikitext = split.parts[0].file.format == "mediawiki"
            share = WIKITEXT_SHARE if is_wikitext else 1.0
            return found, round(text_bytes / share)
    return found, split.text_bytes


def _write(
    documents: list[ShardDocument],
    config: DataConfig,
    *,
    tokenizer: Tokenizer,
    copies: int,
) -> tuple[dict[str, int], float]:
    """Examples and bytes of the first copy, and the CPU time of all, in seconds."""
    start = time.process_time()
    shard = Shard(split=TRAIN, index=0, num_shards=1, copies=copies)
    with tempfile.TemporaryDirectory() as folder:
        sidecar = write_shard(
            documents, shard, tokenizer=tokenizer, config=config, output=folder
        )
    seconds = time.process_time() - start
    first = sidecar["files"][0]
    return {key: first[key] for key in ("examples", "bytes")}, seconds
