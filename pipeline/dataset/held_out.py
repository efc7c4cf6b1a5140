"""Text to measure on, as a data set of held-out documents alone."""

from pathlib import Path

from pipeline.core.documents import ReadingCounts, left_out
from pipeline.dataset.manifest import make_manifest, plan_dataset
from pipeline.dataset.shard import write_shard
from pipeline.dataset.shard_plan import Shard
from pipeline.reading.chunks import plan_chunks
from pipeline.reading.read import read_chunk
from pipeline.reading.recognise import InputFile
from pipeline.vocabulary.tokenizer import Tokenizer
from schemas.config import ResolvedDataConfig
from schemas.errors import AlbertError
from schemas.layout import EVAL
from schemas.manifest import DatasetManifest


def write_held_out(
    files: list[InputFile],
    config: ResolvedDataConfig,
    *,
    tokenizer: Tokenizer,
    output: Path,
) -> DatasetManifest:
    """Write the eval split of a data set that has no other; its manifest."""
    counts = ReadingCounts()
    documents = (
        document
        for chunk in plan_chunks(files)
        for document in read_chunk(chunk, counts=counts)
    )
    sidecar = write_shard(
        documents,
        Shard(split=EVAL, index=0, num_shards=1, copies=1),
        tokenizer=tokenizer,
        config=config,
        output=output,
    )
    plan = plan_dataset(
        config, files, vocab_sha256=tokenizer.sha256, vocab_size=tokenizer.vocab_size
    )
    manifest = make_manifest(plan, [sidecar], counts)
    if not manifest.num_examples(EVAL):
        raise AlbertError(
            f"The text gives no examples to measure on{left_out(manifest.dropped)}; "
            "give longer documents."
        )
    return manifest
