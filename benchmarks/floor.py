"""What no program could do without: SentencePiece alone, TensorFlow's serialization.

The floor of `make-data` encodes every sentence once and serializes every row with
TensorFlow; the floor of `vocab` trains SentencePiece on the same sample and reads the
files.
"""

import itertools
import os
import tempfile
import time
from pathlib import Path

import sentencepiece

from pipeline.core.counts import ReadingCounts
from pipeline.reading.chunks import plan_chunks
from pipeline.reading.read import read_chunk
from pipeline.reading.recognise import InputFile
from pipeline.records.tfrecord import read_records
from pipeline.vocabulary.normalization import albert_normalization, rules_tsv
from pipeline.vocabulary.sampling import sample_sentences
from pipeline.vocabulary.training import trainer_settings
from schemas.config import VocabConfig
from schemas.manifest import DatasetManifest

# Rows that are serialized; the time is stated for all.
SERIALIZED_ROWS = 20_000
ENCODED_SENTENCES = 5000


def encoding_seconds(sentences: list[str], model: bytes) -> float:
    """Processor time of encoding all sentences once."""
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(model)
    start = time.process_time()
    for first in range(0, len(sentences), ENCODED_SENTENCES):
        batch = sentences[first : first + ENCODED_SENTENCES]
        processor.Encode(batch, out_type=int, num_threads=1)
    return time.process_time() - start


def serializing_seconds(dataset: Path, manifest: DatasetManifest) -> float:
    """Processor time for TensorFlow to make and serialize an Example for each row."""
    # What it says of the processor.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    records: list[bytes] = []
    for shard in manifest.shards:
        with (dataset / shard.name).open("rb") as file:
            wanted = SERIALIZED_ROWS - len(records)
            records += itertools.islice(read_records(file), wanted)
    parsed = (tf.train.Example.FromString(record).features for record in records)
    rows = [
        {name: list(values.int64_list.value) for name, values in row.feature.items()}
        for row in parsed
    ]
    start = time.process_time()
    for row in rows:
        features = {
            name: tf.train.Feature(int64_list=tf.train.Int64List(value=values))
            for name, values in row.items()
        }
        example = tf.train.Example(features=tf.train.Features(feature=features))
        example.SerializeToString()
    seconds = time.process_time() - start
    return seconds / len(rows) * sum(shard.examples for shard in manifest.shards)


def reading_seconds(files: list[InputFile]) -> float:
    """Time to read, strip and segment all files in one process."""
    start = time.perf_counter()
    for split in plan_chunks(files):
        for _ in read_chunk(split, counts=ReadingCounts()):
            pass
    return time.perf_counter() - start


def training_seconds(files: list[InputFile], config: VocabConfig) -> float:
    """Time of SentencePiece alone for the sample that `vocab` trains on."""
    sample = sample_sentences(plan_chunks(files), config, workers=1).train
    with tempfile.TemporaryDirectory() as folder:
        rules, text = Path(folder, "rules.tsv"), Path(folder, "sentences.txt")
        normalize = albert_normalization(
            cased=config.cased, keep_accents=config.keep_accents
        )
        rules.write_text(rules_tsv(normalize), encoding="utf-8")
        with text.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{sentence.text}\n" for sentence in sample)
        del sample
        start = time.perf_counter()
        sentencepiece.SentencePieceTrainer.Train(
            input=str(text),
            model_prefix=f"{folder}/model",
            **trainer_settings(config, rules=str(rules)),
            minloglevel=2,
        )
        return time.perf_counter() - start
