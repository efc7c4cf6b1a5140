"""How hypothesis runs, and a real corpus with a vocabulary that is trained once."""

import contextlib
import fcntl
import math
import os
import signal
import sys
from pydoc_data.topics import topics as language_reference

import pytest
from hypothesis import settings
from xdist.scheduler import LoadFileScheduling

from cli.support import console
from pipeline.core.documents import Document
from pipeline.reading.read import shard_documents
from pipeline.storage import files
from pipeline.vocabulary.tokenizer import load_tokenizer
from pipeline.vocabulary.training import train_vocabulary
from schemas.config import VocabConfig
from tests.commands import EVAL_FRACTION, make_data, make_small
from tests.memory_files import CONTENTS, STORAGE

# PyPI's torch brings triton, whose library ends a process that has TensorFlow's.
with contextlib.suppress(ImportError):
    import triton  # noqa: F401

# Tests say what a command says; how slow the machine is shall not show in it.
console.LINE_SECONDS = math.inf

# A shell lets its jobs in the background ignore Ctrl-C, and what they start as well.
signal.signal(signal.SIGINT, signal.default_int_handler)

# What a program writes is looked at, and not whether it would outlive a power cut.
os.fsync = lambda _: None


def pytest_make_parametrize_id(val, argname):
    """Bytes go by their argument's name: some differ each time they are made."""
    return argname if isinstance(val, bytes) else None


class ByFile(LoadFileScheduling):
    """A file's tests in one process, and those of all engines, each of which is started once."""

    def _split_scope(self, nodeid):
        return "engines" if nodeid.startswith("tests/engines/") else super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return ByFile(config, log)


def pytest_runtest_setup():
    """Where a machine's rate is measured, little products are enough: no test asks for more."""
    if timing := sys.modules.get("albert_tf.training.timing"):
        timing.WIDTH = timing.MAX_WIDTH = 64
        timing.PRODUCT_SECONDS = 0.0


settings.register_profile("ci", derandomize=True, deadline=None, database=None, max_examples=50)
settings.load_profile("ci")


@pytest.fixture
def memory():
    """What memory:// holds by path, nothing at first."""
    STORAGE.store.clear()
    files._entries.clear()
    yield CONTENTS
    STORAGE.store.clear()


@pytest.fixture
def untrained(monkeypatch):
    """Runs are begun or go on, and not a step of them is computed."""
    monkeypatch.setattr("cli.commands.pretrain.train", lambda *_, **__: None)


@pytest.fixture(scope="session")
def topics():
    """Python's language reference, 430 kB of English, a document a topic."""
    documents = []
    for text in language_reference.values():
        paragraphs = tuple(" ".join(p.split()) for p in text.split("\n\n") if p.strip())
        documents += shard_documents(Document(paragraphs), language="en")
    return documents


@pytest.fixture(scope="session")
def sentences(topics):
    """Every line of the language reference, to train vocabularies on."""
    return "\n".join(document.text for document in topics).split("\n")


def shared(factory, name, make):
    """A path where a file or a folder is made, once for all processes of pytest-xdist."""
    base = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    path, made = base / name, base / f"{name}-made"
    with (base / f"{name}-lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if not made.exists():
            make(path)
            made.touch()
    return path


@pytest.fixture(scope="session")
def model(sentences, tmp_path_factory):
    """A SentencePiece model of 2,000 pieces."""

    def make(path):
        path.write_bytes(train_vocabulary(sentences, VocabConfig(vocab_size=2000)))

    return shared(tmp_path_factory, "model", make).read_bytes()


@pytest.fixture(scope="session")
def tokenizer(model):
    return load_tokenizer(model)


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """A folder with texts, a vocabulary and a data set, made by the commands."""
    return shared(tmp_path_factory, "small", make_small)


@pytest.fixture(scope="session")
def documents(small, tmp_path_factory):
    """The data set of `small`, its examples made on the fly; to be read."""
    flags = ("--eval-fraction", EVAL_FRACTION, "--examples", "on-the-fly")
    return shared(tmp_path_factory, "documents", lambda path: make_data(small, *flags, output=path))


@pytest.fixture(scope="session")
def models(small, tmp_path_factory):
    """The same and models, to be read; what changes one copies it."""
    # Only who asks for them waits for TensorFlow.
    from tests.exported_runs import write_models

    return shared(tmp_path_factory, "models", lambda folder: write_models(folder, small))
