"""Every file name of a vocabulary, a data set and a run, each spelled once."""

from pathlib import Path
from typing import Literal

# In every output directory.
MANIFEST = "manifest.json"
CONFIG = "config.json"
SPM_MODEL = "spiece.model"

# Where CONFIG has the record of what was chosen for --budget.
BUDGET_RECORD = "chosen_for_budget"

# Where CONFIG has the tokens in the longest sequences that the weights of --init-from
# were trained on.
LENGTH_BEFORE = "length_before"

# What an imported ALBERT with BERT's WordPiece has instead of SPM_MODEL.
WORDPIECE = "vocab.txt"

# In an output directory while a command writes there.
LOCK = ".lock"

# A vocabulary: SPM_MODEL, MANIFEST, CONFIG and
SPM_VOCAB = "spiece.vocab"
HF_TOKENIZER = "tokenizer.json"
HF_TOKENIZER_CONFIG = "tokenizer_config.json"

# A data set: MANIFEST, CONFIG, SPM_MODEL, a folder for each split and
TRAIN, EVAL = "train", "eval"
DOCUMENTS = f"{TRAIN}/documents"
DATA_CARD = "README.md"
SIDECARS = "shards"
SIDECAR_FILES = f"{SIDECARS}/*.json"
# and, while it is made, what is removed at the end:
WORK = ".work"
CHUNK_MARKS = f"{WORK}/split-*.json"
LINE_MARKS = f"{WORK}/split-*.lines"
# Of a chunk: its documents, a look at them, what is kept of them to find near-copies and
# held-out text, the mark that it has been read; its lines with their documents, and the
# mark that they have been counted.
ChunkFile = Literal[
    "documents", "look", "signatures", "sketches", "runs", "json", "line-pairs", "lines"
]
# What a job on a cluster writes, so that workers elsewhere know the folder again.
SUBMITTED = f"{WORK}/submitted"
NEAR_DUPLICATES = f"{WORK}/near-duplicates.npy"
HELD_OUT_TEXT = f"{WORK}/held-out-text.npy"
REPEATED_LINES = f"{WORK}/repeated-lines.npy"

# What was removed from a text, a file for each chunk.
REMOVED_FILES = "removed-*.jsonl"

# A run: CONFIG, SPM_MODEL and
MODEL_CONFIG = "model.json"
DATA_MANIFEST = "data_manifest.json"
METRICS = "metrics.jsonl"
EVALUATIONS = "evaluations"
# The only evaluation that earlier versions kept.
EVALUATION = "evaluation.json"
TENSORBOARD = "tensorboard"
CHECKPOINTS = "checkpoints"
CHECKPOINT_DIRECTORIES = f"{CHECKPOINTS}/step-*"
LATEST = "latest"
BEST = "best"

# A checkpoint.
MODEL_WEIGHTS = "model.safetensors"
OPTIMIZER_STATE = "optimizer.safetensors"
STATE = "state.json"

# A fine-tuned model: what a run has except its data and evaluation, MODEL_CARD and
TASK = "task.json"
TASK_EVALUATION = "eval.json"
TASK_PREDICTIONS = "predictions-eval.jsonl"
TEST_PREDICTIONS = "predictions"

# An export: what the other program reads, SPM_MODEL and
EXPORT_RECORD = "export.json"
MODEL_CARD = "README.md"


def vocabulary_file(folder: Path) -> Path:
    """The vocabulary of a run: SPM_MODEL, or WORDPIECE if only that is there.

    >>> vocabulary_file(Path("run")).name
    'spiece.model'
    """
    is_wordpiece = not (folder / SPM_MODEL).exists() and (folder / WORDPIECE).is_file()
    return folder / (WORDPIECE if is_wordpiece else SPM_MODEL)


def copy_directory(split: str, copy: int) -> str:
    """The directory of one copy of one split, relative to the data set.

    >>> copy_directory("train", 3)
    'train/copy-03'
    """
    return f"{split}/copy-{copy:02d}"


def part_file(directory: str, part: int, *, num_parts: int) -> str:
    """One of the TFRecord files of a directory, relative to the data set.

    >>> part_file(DOCUMENTS, 7, num_parts=64)
    'train/documents/part-00007-of-00064.tfrecord'
    """
    return f"{directory}/part-{part:05d}-of-{num_parts:05d}.tfrecord"


def shard_file(split: str, copy: int, *, shard: int, num_shards: int) -> str:
    """The TFRecord file of one shard of one copy, relative to the data set.

    >>> shard_file("train", 0, shard=7, num_shards=64)
    'train/copy-00/part-00007-of-00064.tfrecord'
    """
    return part_file(copy_directory(split, copy), shard, num_parts=num_shards)


def sidecar_file(split: str, shard: int) -> str:
    """The description of one finished shard, all its copies together.

    >>> sidecar_file("eval", 2)
    'shards/eval-00002.json'
    """
    return f"{SIDECARS}/{split}-{shard:05d}.json"


def removed_file(chunk: int) -> str:
    """The removed paragraphs of one chunk of the text.

    >>> removed_file(4)
    'removed-00004.jsonl'
    """
    return REMOVED_FILES.replace("*", f"{chunk:05d}")


def chunk_file(chunk: int, ending: ChunkFile) -> str:
    """A file of one chunk of the text, while a data set is made.

    >>> chunk_file(4, "documents")
    '.work/split-00004.documents'
    """
    return f"{WORK}/split-{chunk:05d}.{ending}"


def checkpoint_directory(step: int) -> str:
    """One checkpoint, relative to the run.

    >>> checkpoint_directory(300)
    'checkpoints/step-00000300'
    """
    return f"{CHECKPOINTS}/step-{step:08d}"
