"""Edited and damaged models are refused in one sentence, before anything is built.

A row for each check without which memory would be filled; the others, and wording, are
tested where the check is.
"""

import contextlib
import hashlib
import json
import math
import shutil
import struct
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from albert_tf.convert.model_card import model_card
from albert_tf.convert.reading import read_other_model as load
from albert_tf.evaluation import evaluate as evaluation
from albert_tf.evaluation.held_out import Measured
from albert_tf.model.trained_model import read_trained
from albert_tf.reporting.run_report import runs_section
from albert_tf.runs.metrics import Sums
from albert_tf.runs.run_record import finished_step, read_run
from cli.commands.export import load_model
from cli.commands.import_model import take_model
from cli.support.console import Console
from schemas.errors import AlbertError
from tests.exported_runs import SMALL_RUN, load_pretrainer
from tests.refusals import refusal

STATE = "checkpoints/step-00000007/state.json"
WEIGHTS = "checkpoints/step-00000007/model.safetensors"
INDEX = "model.safetensors.index.json"
GOOGLE = "google/albert_config.json"
WIDE = {"embedding_size": 4096, "hidden_size": 4096}
# What a model is imported with.
VOCABULARY = SimpleNamespace(
    path="spiece.model", tokenizer=SimpleNamespace(vocab_size=SMALL_RUN.vocab_size, order=None)
)


def export(run):
    exported, _ = load_model(run, "latest", say=Console(quiet=True).say)
    model_card(run, exported.config, step=exported.step, normalize=str)


def report(run):
    runs_section([read_run(run, title="run")])


def measure(run, data):
    evaluation.evaluate(read_trained(run), data=data, scope=evaluation.Scope(examples=1))


def values(**changes):
    """Other values in a JSON object."""
    return lambda content: json.dumps(json.loads(content) | changes).encode() + b"\n"


def edit_header(edit):
    """An edit of the header of a file of tensors alone, with its length made true."""

    def edited(data):
        (size,) = struct.unpack("<Q", data[:8])
        text = edit(data[8 : 8 + size])
        return struct.pack("<Q", len(text)) + text + data[8 + size :]

    return edited


def header(**changes):
    """Other values in what the header says of the first tensor."""

    def edit(text):
        tensors = json.loads(text)
        first = min(name for name in tensors if not name.startswith("__"))
        return json.dumps(tensors | {first: tensors[first] | changes}).encode()

    return edit_header(edit)


def length(size):
    """Another length of the header."""
    return lambda data: struct.pack("<Q", size) + data[8:]


def divided(name):
    """An index of tensors in several files, in the place of their one file."""
    return lambda _: json.dumps({"weight_map": {"a": name}}).encode()


def edit_file(path, edit):
    before = path.read_bytes() if path.exists() else b""
    path.write_bytes(edit(before))
    if path.name == "model.safetensors" and (path.parent / "state.json").exists():
        state = path.parent / "state.json"
        recorded = json.loads(state.read_bytes())
        recorded["sha256"][path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
        state.write_text(json.dumps(recorded))


shapes = "has shape {}, but the configuration says {}".format
# What reads, the file, its edit, and what the sentence has to say.
EDITS = [
    (export, f"run/{WEIGHTS}", length(2**63), "header too large"),
    (export, f"run/{WEIGHTS}", header(dtype="I32"), "is of type I32, and only BF16"),
    (export, f"run/{WEIGHTS}", header(shape=[2, -4]), "no checkpoint that can be"),
    (export, "run/model.json", values(num_hidden_layers=10**9), "at most 1024"),
    (export, "run/model.json", values(intermediate_size=200_000), "and (200000,) in"),
    (load, "hf/config.json", values(num_hidden_layers=10**9), "at most 1024"),
    (load, "hf/config.json", values(intermediate_size=10**5), shapes((24, 16), (10**5, 16))),
    (load, "hf/config.json", values(**WIDE), shapes((400, 8), (400, 4096))),
    (load, GOOGLE, values(intermediate_size=10**5), shapes((16, 24), (16, 10**5))),
    (load, "hf/model.safetensors", length(2**40), "is not whole: Error while"),
    (load, "hf/model.safetensors", header(shape=[0, 2**62]), "is not whole"),
    (load, f"hf/{INDEX}", divided(3), "names 3, which is not the name of a"),
    (load, f"hf/{INDEX}", divided("a.bin"), "names 'a.bin', which is not"),
    (load, f"hf/{INDEX}", divided("/a.safetensors"), "hf/a.safetensors is missing, which"),
]


@pytest.mark.parametrize(("reader", "name", "edit", "words"), EDITS)
def test_an_edited_file_is_refused_in_a_sentence(models, tmp_path, reader, name, edit, words):
    kind, rest = name.split("/", 1)
    copy = shutil.copytree(models / kind, tmp_path / kind)
    if rest == INDEX:
        (copy / "model.safetensors").unlink()
    edit_file(copy / rest, edit)
    tracemalloc.start()
    try:
        said = refusal(reader, copy)
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()
    assert words in said
    assert said.endswith(".")
    assert "\n" not in said


# What a value of a file is replaced by.
NUMBERS = (-1, 0, 1, 2**31, 2**63, 10**30, 10**400, 0.5, -0.5, math.nan, math.inf)
OTHERS = (None, True, "", "x", "../x", "\0", [], [1], [[]], {}, {"a": 1}, "none", "all")


def with_value(data, place, value):
    """A JSON object with another value somewhere, at its top or a level below."""
    try:
        edited = json.loads(data)
    except ValueError:
        return data[::-1]
    inner = [v for v in edited.values() if isinstance(v, dict) and v]
    inside = inner[-1] if inner and place > 0.7 else edited
    inside[list(inside)[int(place * (len(inside) - 1))]] = value
    return json.dumps(edited).encode() + b"\n"


def with_bytes(data, place, new, *, cut):
    """Content in which some bytes are others."""
    at = int(place * len(data))
    return data[:at] + new + data[at + cut :]


PLACES = st.floats(0, 1)
RANDOM_EDITS = st.one_of(
    st.builds(
        lambda place, value: lambda data: with_value(data, place, value),
        PLACES,
        st.sampled_from(NUMBERS + OTHERS),
    ),
    st.builds(
        lambda place, new, cut: lambda data: with_bytes(data, place, new, cut=cut),
        PLACES,
        st.binary(max_size=12),
        st.integers(0, 12),
    ),
)


class NothingMeasured:
    """What `evaluate` measures with, without computing anything."""

    def __init__(self, model, records, *, examples):
        assert examples == 1

    def programs(self):
        return []

    def measure(self, **_):
        return Measured(Sums(*[0.0] * len(Sums._fields)), np.zeros((4, 1)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *("run/model.json", "run/config.json", "run/metrics.jsonl"),
        *(f"run/{STATE}", f"run/{WEIGHTS}"),
        *("hf/config.json", "hf/model.safetensors", GOOGLE),
    ],
)
@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edit=RANDOM_EDITS)
def test_no_edit_ends_in_anything_but_a_sentence(models, small, tmp_path_factory, name, edit):
    kind, rest = name.split("/", 1)
    folder = tmp_path_factory.mktemp("edited") / kind
    shutil.copytree(models / kind, folder)
    is_tensors = rest.endswith(".safetensors")
    edit_file(folder / rest, edit_header(edit) if is_tensors else edit)
    readers = (
        *(export, report, finished_step, load_pretrainer, load),
        lambda run: take_model(run, VOCABULARY),
        lambda run: measure(run, small / "data"),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluation, "HeldOut", NothingMeasured)
        for reader in readers:
            with contextlib.suppress(AlbertError):
                reader(folder)
    shutil.rmtree(folder)
