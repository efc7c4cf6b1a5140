"""The table of edited and damaged models: each is refused in one sentence.

Whatever reads a run or an external model reads it through the same doors, so that no
reader meets a value of the wrong type or size, and nothing is built before it fits.
"""

import contextlib
import hashlib
import json
import math
import shutil
import struct
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from albert_tf.convert.huggingface import (
    huggingface_config,
    huggingface_tensors,
    write_tensors,
)
from albert_tf.convert.model_card import model_card
from albert_tf.convert.reading import load_pretrainer, read_external
from albert_tf.evaluation import evaluate as evaluation
from albert_tf.model.parameters import weight_shapes
from albert_tf.model.trained_model import read_trained
from albert_tf.reporting.run_report import runs_section
from albert_tf.runs.checkpoints import has_checkpoint
from albert_tf.runs.finished import finished_step
from albert_tf.runs.metrics import Sums
from albert_tf.runs.run_record import read_run
from cli.commands.export import load
from cli.commands.import_model import read_weights
from cli.support.console import Console
from schemas.errors import AlbertError
from schemas.json_file import write_json
from tests.exported_runs import SMALL_RUN, write_run
from tests.google_albert import save_google

STATE = "checkpoints/step-00000007/state.json"
WEIGHTS = "checkpoints/step-00000007/model.safetensors"
DEEP = b'{"a":' * 100_000


@pytest.fixture(scope="module")
def whole(small, tmp_path_factory):
    """A run, the same as Hugging Face and as google-research keep it, and data."""
    folder = tmp_path_factory.mktemp("whole")
    weights = write_run(folder / "run", SMALL_RUN, small)
    for name in ("hf", "google"):
        (folder / name).mkdir()
    write_json(folder / "hf/config.json", huggingface_config(SMALL_RUN))
    write_tensors(
        huggingface_tensors(weights, SMALL_RUN), folder / "hf/model.safetensors"
    )
    save_google(folder / "google", weights, SMALL_RUN)
    return folder


def export(run):
    console = Console(quiet=True)
    exported, _ = load(run, "latest", console=console)
    model_card(run, exported.config, step=exported.step)


def report(run):
    runs_section([read_run(run, title="run")])


def values(**changes):
    """Other values in a JSON object; None takes one out."""

    def edit(content):
        edited = json.loads(content) | changes
        kept = {k: v for k, v in edited.items() if v is not None}
        return json.dumps(kept).encode()

    return edit


def content(data):
    return lambda _: data


def line(**changes):
    """Another value in the line of metrics."""
    return lambda text: values(**changes)(text) + b"\n"


def header(**changes):
    """Other values in what the header says of the first tensor."""

    def edit(data):
        (size,) = struct.unpack("<Q", data[:8])
        tensors = json.loads(data[8 : 8 + size])
        first = min(name for name in tensors if not name.startswith("__"))
        tensors[first] |= changes
        text = json.dumps(tensors).encode()
        return struct.pack("<Q", len(text)) + text + data[8 + size :]

    return edit


def length(size):
    """Another length of the header."""
    return lambda data: struct.pack("<Q", size) + data[8:]


def divided(**files):
    """An index of tensors in several files, in the place of their one file."""
    return content(json.dumps({"weight_map": files}).encode())


def edit_file(path, edit):
    before = path.read_bytes() if path.exists() else b""
    path.write_bytes(edit(before))
    if path.name == "model.safetensors" and (path.parent / "state.json").exists():
        state = path.parent / "state.json"
        recorded = json.loads(state.read_bytes())
        recorded["sha256"][path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
        state.write_text(json.dumps(recorded))


def unreadable(reason):
    return (
        "run/checkpoints has no checkpoint that can be read (step-00000007: "
        f"{reason}); start the run again with --overwrite."
    )


TOO_DEEP = (
    "its lists and objects are nested too deeply; correct the file or make it again."
)
EDITS = [
    (
        export,
        STATE,
        values(step=-1),
        unreadable("state.json cannot be true: step is -1"),
    ),
    (
        export,
        STATE,
        values(step=8),
        unreadable("state.json cannot be true: its step is 8 and not 7"),
    ),
    (
        export,
        STATE,
        values(step="7"),
        unreadable("state.json cannot be true: step is '7'"),
    ),
    (
        export,
        STATE,
        values(step=True),
        unreadable("state.json cannot be true: step is True"),
    ),
    (
        export,
        STATE,
        values(step=10**30),
        unreadable(
            "state.json cannot be true: step is 1000000000000000000000000000000"
        ),
    ),
    (
        export,
        STATE,
        values(step=None),
        unreadable("state.json cannot be true: its step is None and not 7"),
    ),
    (
        export,
        STATE,
        values(examples=-8),
        unreadable("state.json cannot be true: examples is -8"),
    ),
    (
        export,
        STATE,
        values(seconds=math.nan),
        unreadable("state.json cannot be true: seconds is nan"),
    ),
    (
        export,
        STATE,
        values(window=[0.0] * 5),
        unreadable("state.json cannot be true: window is [0.0, 0.0, 0.0, 0.0, 0.0]"),
    ),
    (
        export,
        STATE,
        values(window={"a": 1}),
        unreadable("state.json cannot be true: window is {'a': 1}"),
    ),
    (
        export,
        STATE,
        values(micro_batch_size=0),
        unreadable("state.json cannot be true: micro_batch_size is 0"),
    ),
    (
        export,
        STATE,
        values(surprise=1),
        unreadable("state.json cannot be true: surprise is 1"),
    ),
    (
        export,
        STATE,
        values(sha256=["a"]),
        unreadable("model.safetensors is not what was written"),
    ),
    (
        export,
        STATE,
        content(DEEP),
        unreadable(
            "run/checkpoints/step-00000007/state.json is not valid JSON: its "
            "lists and objects are nested too deeply; correct the file or make it again"
        ),
    ),
    (
        export,
        STATE,
        content(b"\xff\xfe"),
        unreadable(
            "run/checkpoints/step-00000007/state.json is not valid JSON: 'utf-8' "
            "codec can't decode byte 0xff in position 0: invalid start byte; "
            "correct the file or make it again"
        ),
    ),
    (
        export,
        WEIGHTS,
        length(2**63),
        unreadable(
            "model.safetensors: Error while deserializing header: header too large"
        ),
    ),
    (
        export,
        WEIGHTS,
        content(struct.pack("<Q", len(DEEP)) + DEEP),
        unreadable(
            "model.safetensors: Error while deserializing header: invalid JSON in "
            "header: recursion limit exceeded at line 1 column 636"
        ),
    ),
    (
        export,
        WEIGHTS,
        header(dtype="I32"),
        unreadable(
            "model.safetensors: albert/encoder/embeddings/layer_norm/beta is of "
            "type I32, and only F16, F32, F64 can be read"
        ),
    ),
    (
        export,
        WEIGHTS,
        header(shape=[2, -4]),
        unreadable(
            "model.safetensors: Error while deserializing header: invalid JSON in "
            "header: invalid value: integer `-4`, expected usize at line 1 column "
            "5623"
        ),
    ),
    (
        export,
        "model.json",
        values(num_hidden_layers=10**9),
        ("run/model.json: num_hidden_layers must be at most 1024, not 1000000000."),
    ),
    (
        export,
        "model.json",
        values(inner_group_num=10**9),
        "run/model.json: inner_group_num must be at most 16, not 1000000000.",
    ),
    (
        export,
        "model.json",
        values(intermediate_size=200_000),
        (
            "albert/encoder/group_0_inner_0_ffn/intermediate/bias has shape (24,) "
            "in the checkpoint and (200000,) in the model; give the architecture of "
            "the weights."
        ),
    ),
    (
        export,
        "model.json",
        values(hidden_size="wide"),
        "run/model.json: hidden_size must be of type int, not 'wide'.",
    ),
    (
        export,
        "model.json",
        values(layer_norm_eps=math.inf),
        (
            "run/model.json: layer_norm_eps must be less than 9223372036854775808, "
            "not inf."
        ),
    ),
    (
        export,
        "model.json",
        values(sentence_task=["sop"]),
        "run/model.json: sentence_task must be of type str, not ['sop'].",
    ),
    (
        export,
        "model.json",
        values(width=3),
        (
            "run/model.json: 'width' is not a setting; the settings "
            "are vocab_size, embedding_size, hidden_size, num_hidden_layers, "
            "num_hidden_groups, inner_group_num, num_attention_heads, "
            "intermediate_size, sharing, hidden_dropout_prob, "
            "attention_probs_dropout_prob, max_position_embeddings, "
            "type_vocab_size, initializer_range, layer_norm_eps, hidden_act, "
            "sentence_task, layer_consistency_weight."
        ),
    ),
    (
        export,
        "model.json",
        content(DEEP),
        f"run/model.json is not valid JSON: {TOO_DEEP}",
    ),
    (
        export,
        "config.json",
        values(learning_rate="high"),
        "run/config.json: learning_rate must be of type float, not 'high'.",
    ),
    (
        export,
        "config.json",
        values(steps=10**400),
        (
            "run/config.json is not valid JSON: a whole number has more than 100 "
            "digits; correct the file or make it again."
        ),
    ),
    (
        report,
        "config.json",
        values(identity=[1]),
        (
            "run/config.json: identity must be of type dict, not list; put the "
            "file back as it was written."
        ),
    ),
    (
        report,
        "config.json",
        values(environment="x"),
        (
            "run/config.json: environment must be of type dict, not str; put the "
            "file back as it was written."
        ),
    ),
    (
        report,
        "config.json",
        values(environment={"started": 3}),
        (
            "run/config.json: started must be of type str, not int; put the file "
            "back as it was written."
        ),
    ),
    (
        report,
        "config.json",
        values(data=7),
        (
            "run/config.json: data must be of type str, not int; put the file back "
            "as it was written."
        ),
    ),
    (
        report,
        "config.json",
        values(chosen_for_budget=[]),
        (
            "run/config.json: chosen_for_budget must be of type dict, not list; put "
            "the file back as it was written."
        ),
    ),
    (
        report,
        "metrics.jsonl",
        line(step=-1),
        (
            "run/metrics.jsonl: line 1 is not a line of metrics; remove the line "
            "and run the same command again."
        ),
    ),
    (
        report,
        "metrics.jsonl",
        line(step=True),
        (
            "run/metrics.jsonl: line 1 is not a line of metrics; remove the line "
            "and run the same command again."
        ),
    ),
    (
        report,
        "metrics.jsonl",
        line(mlm_loss=10**400),
        (
            "run/metrics.jsonl: line 1 is not a line of metrics; remove the line "
            "and run the same command again."
        ),
    ),
    (
        report,
        "metrics.jsonl",
        line(seconds=math.nan),
        (
            "run/metrics.jsonl: line 1 is not a line of metrics; remove the line "
            "and run the same command again."
        ),
    ),
    (
        report,
        "metrics.jsonl",
        content(DEEP + b"\n"),
        (
            "run/metrics.jsonl: line 1 is not a line of metrics; remove the line "
            "and run the same command again."
        ),
    ),
    (
        report,
        "model.json",
        values(vocab_size=-1),
        "run/model.json: vocab_size must be at least 6, not -1.",
    ),
    (
        read_external,
        "hf/config.json",
        values(num_hidden_layers=10**9),
        ("hf/config.json: num_hidden_layers must be at most 1024, not 1000000000."),
    ),
    (
        read_external,
        "hf/config.json",
        values(intermediate_size=10**5),
        (
            "hf/model.safetensors: "
            "albert.encoder.albert_layer_groups.0.albert_layers.0.ffn.weight has "
            "shape (24, 16), but the configuration says (100000, 16); give the files "
            "of one model."
        ),
    ),
    (
        read_external,
        "hf/config.json",
        values(hidden_size=10**12),
        "hf/config.json: hidden_size must be at most 65536, not 1000000000000.",
    ),
    (
        read_external,
        "hf/config.json",
        values(embedding_size=4096, hidden_size=4096),
        (
            "hf/model.safetensors: albert.encoder.embedding_hidden_mapping_in is "
            "not the identity although the embedding size is the hidden size; such "
            "a model cannot be read."
        ),
    ),
    (
        read_external,
        "hf/config.json",
        values(vocab_size=[1]),
        "hf/config.json: vocab_size must be of type int, not [1].",
    ),
    (
        read_external,
        "hf/config.json",
        values(model_type=["albert"]),
        (
            "hf/config.json describes a model of type ['albert'], and only albert "
            "can be read; give the folder of an ALBERT."
        ),
    ),
    (
        read_external,
        "hf/config.json",
        values(model_type="albert", hidden_act={}),
        "hf/config.json: hidden_act is {}; only ALBERTs with GELU or ReLU can be read.",
    ),
    (
        read_external,
        "hf/config.json",
        content(DEEP),
        f"hf/config.json is not valid JSON: {TOO_DEEP}",
    ),
    (
        read_external,
        "hf/model.safetensors",
        length(2**40),
        (
            "hf/model.safetensors is not whole: Error while deserializing header: "
            "header too large; copy it again."
        ),
    ),
    (
        read_external,
        "hf/model.safetensors",
        length(0),
        (
            "hf/model.safetensors is not whole: Error while deserializing header: "
            "invalid JSON in header: EOF while parsing a value at line 1 column 0; "
            "copy it again."
        ),
    ),
    (
        read_external,
        "hf/model.safetensors",
        header(shape=[0, 2**62]),
        (
            "hf/model.safetensors is not whole: Error while deserializing header: "
            "invalid shape, data type, or offset for tensor; copy it again."
        ),
    ),
    (
        read_external,
        "hf/model.safetensors.index.json",
        divided(a=3),
        (
            "hf/model.safetensors.index.json names 3, which is not the name of a "
            "file of tensors (*.safetensors); copy it again."
        ),
    ),
    (
        read_external,
        "hf/model.safetensors.index.json",
        divided(a="weights.bin"),
        (
            "hf/model.safetensors.index.json names 'weights.bin', which is not the "
            "name of a file of tensors (*.safetensors); copy it again."
        ),
    ),
    (
        read_external,
        "hf/model.safetensors.index.json",
        divided(a="/a.safetensors"),
        (
            "hf/a.safetensors is missing, which model.safetensors.index.json "
            "names; give the whole folder of a model."
        ),
    ),
    (
        read_external,
        "hf/model.safetensors.index.json",
        content(DEEP),
        f"hf/model.safetensors.index.json is not valid JSON: {TOO_DEEP}",
    ),
    (
        read_external,
        "google/albert_config.json",
        values(num_hidden_layers=10**9),
        (
            "google/albert_config.json: num_hidden_layers must be at most 1024, "
            "not 1000000000."
        ),
    ),
    (
        read_external,
        "google/albert_config.json",
        values(intermediate_size=10**5),
        (
            "google/model.ckpt: "
            "bert/encoder/transformer/group_0/inner_group_0/ffn_1/intermediate/dens"
            "e/kernel has shape (16, 24), but the configuration says (16, 100000); "
            "give the files of one model."
        ),
    ),
    (
        read_external,
        "google/model.ckpt.index",
        content(b"no index"),
        (
            "google/model.ckpt is not whole: file is too short to be an sstable; "
            "copy it again."
        ),
    ),
]


def said(whole, folder, reader, name, edit):
    """What the reader says of an edited copy, without the copy's place."""
    kind, rest = name.split("/", 1) if name.startswith(("hf", "goo")) else ("run", name)
    copy = shutil.copytree(whole / kind, folder / kind)
    if rest.endswith("index.json"):
        (copy / "model.safetensors").unlink()
    edit_file(copy / rest, edit)
    tracemalloc.start()
    try:
        with pytest.raises(AlbertError) as refusal:
            reader(copy)
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()
    return str(refusal.value).replace(f"{folder}/", "")


@pytest.mark.parametrize(("reader", "name", "edit", "sentence"), EDITS)
def test_an_edited_file_is_refused_in_a_sentence(
    whole, tmp_path, reader, name, edit, sentence
):
    assert said(whole, tmp_path, reader, name, edit) == sentence


def test_the_readers_take_what_was_not_edited(whole, small):
    export(whole / "run")
    report(whole / "run")
    assert has_checkpoint(whole / "run")
    for kind in ("hf", "google"):
        model = read_external(whole / kind)
        assert {n: a.shape for n, a in model.weights.items()} == weight_shapes(
            SMALL_RUN
        )


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


def edit_header(edit):
    """An edit of the header of a file of tensors alone, with its length made true."""

    def edited(data):
        (size,) = struct.unpack("<Q", data[:8])
        text = edit(data[8 : 8 + size])
        return struct.pack("<Q", len(text)) + text + data[8 + size :]

    return edited


# What `evaluate` is asked for here: neither words nor pairs.
ONE_EXAMPLE = evaluation.Scope(examples=1)


class NothingMeasured:
    """What `evaluate` measures with, without computing anything."""

    def __init__(self, model, records, *, examples):
        assert examples == 1

    def sums(self, **_):
        return Sums(*[0.0] * len(Sums._fields))


@pytest.fixture(scope="module")
def uncomputed():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluation, "HeldOut", NothingMeasured)
        yield


def measure(run, data):
    evaluation.evaluate(read_trained(run), data=data, scope=ONE_EXAMPLE)


def read_all(folder, data):
    """Every reader of a folder, each of which may refuse it."""
    readers = [
        export,
        report,
        finished_step,
        load_pretrainer,
        read_external,
        read_weights,
        lambda run: evaluation.evaluate(
            read_trained(run), data=data, scope=ONE_EXAMPLE
        ),
    ]
    for reader in readers:
        with contextlib.suppress(AlbertError):
            reader(folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *("run/model.json", "run/config.json", "run/metrics.jsonl"),
        *(f"run/{STATE}", f"run/{WEIGHTS}"),
        *("hf/config.json", "hf/model.safetensors", "google/albert_config.json"),
    ],
)
@settings(
    max_examples=5,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(edit=RANDOM_EDITS)
def test_no_edit_ends_in_anything_but_a_sentence(
    whole, small, uncomputed, tmp_path_factory, name, edit
):
    kind, rest = name.split("/", 1)
    folder = tmp_path_factory.mktemp("edited") / kind
    shutil.copytree(whole / kind, folder)
    is_tensors = rest.endswith(".safetensors")
    edit_file(folder / rest, edit_header(edit) if is_tensors else edit)
    read_all(folder, small / "data")
    shutil.rmtree(folder)
