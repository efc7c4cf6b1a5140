"""What JAX compiles, and how often."""

import json
import os
import subprocess
import sys
from collections import Counter

import pytest

COUNTING = """
import dataclasses, json, sys
from array import array
from pathlib import Path
import jax

found, hits, first = [], [], []

def timed(event, seconds, **of):
    if event.endswith("backend_compile_duration"):
        found.append(of["fun_name"])

jax.monitoring.register_event_duration_secs_listener(timed)
jax.monitoring.register_event_listener(lambda event, **of: hits.append(event.rsplit("/")[-1]))

def before_and_after(kind):
    record = kind.record

    def recorded(self, *arguments):
        first.append(len(found))
        return record(self, *arguments)

    kind.record = recorded

"""
TRAINING = (
    COUNTING
    + """
from albert_tf.model import sampled_softmax
from albert_tf.training.pretraining import Pretraining, pretrain
from schemas.config import TrainConfig
from tests.training_data import TINY, resolved_run, signal_at_step

data, run = map(Path, sys.argv[1:3])
model = dataclasses.replace(TINY, vocab_size=400)
config = TrainConfig(
    batch_size=27, micro_batch_size=20, steps=12, eval_every=2, checkpoint_every=3,
    masked_lm_prob="0.40:0.5,0.40..0.15", schedule="constant-cooldown", warmup_steps=2,
    sampled_softmax=True,
)
sampled_softmax.LEAST_DRAWN, sampled_softmax.MOST_CANDIDATES = 40, 1
signal_at_step(5)
before_and_after(Pretraining)

def compiled():
    found.clear()
    first.clear()
    result = pretrain(resolved_run(data, run, config, model_config=model))
    return result.step, found[: first[0]], found[first[0] :]

print(json.dumps([compiled(), compiled(), hits.count("cache_misses")]))
"""
)
TUNING = (
    COUNTING
    + """
import numpy as np
from albert_tf.finetuning.finetune import FineTuning
from albert_tf.runs.metrics import QUIET
from albert_tf.training.signals import StopRequest
from schemas.task import TokenSequence
from tests.albert_tf.finetuning.test_finetune import job_of

kind, run = sys.argv[1], Path(sys.argv[2])
job = job_of(kind, run, steps=12, epochs=None, eval_every=4)
rng = np.random.default_rng(0)

def longer(rows):
    lengths = iter(np.linspace(5, 126, sum(len(row.sequences) for row in rows.rows)).astype(int))
    sequences = [
        [
            TokenSequence(array("i", [2, *rng.integers(10, 40, n - 2), 3]), first_length=n)
            for n in (next(lengths) for _ in row.sequences)
        ]
        for row in rows.rows
    ]
    longer = zip(rows.rows, sequences)
    return dataclasses.replace(
        rows, rows=[dataclasses.replace(row, sequences=tuple(own)) for row, own in longer]
    )

model = dataclasses.replace(job.source.config, max_position_embeddings=128)
job = dataclasses.replace(
    job,
    train=longer(job.train),
    held_out=longer(job.held_out),
    config=dataclasses.replace(job.config, max_seq_length=128),
    source=dataclasses.replace(job.source, config=model, weights={}),
)
before_and_after(FineTuning)
FineTuning(job, None, stop=StopRequest(), progress=QUIET).train()
print(json.dumps([found[: first[0]], found[first[0] :]]))
"""
)


def trained(data, run, cache, *, devices):
    """Steps, and what is compiled before and after the first, of two calls; cache misses."""
    environment = os.environ | {
        "KERAS_BACKEND": "jax",
        "JAX_PLATFORMS": "cpu",
        "JAX_COMPILATION_CACHE_DIR": str(cache),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}",
    }
    return answered(TRAINING, str(data), str(run), environment=environment)


def answered(program, *arguments, environment):
    """The last line that a program prints, of JSON."""
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.parametrize("devices", [1, 2])
def test_few_programs_are_compiled_all_before_the_first_step_and_once(documents, tmp_path, devices):
    """Through the falling share of masks, evaluations, a short batch, a stop; then no more.

    Each size has a program among candidates and one of the whole vocabulary.
    """
    pytest.importorskip("jax")
    data, cache = documents, tmp_path / "cache"
    first, second, _ = trained(data, tmp_path / "run", cache, devices=devices)
    assert (first[0], second[0]) == (4, 12)
    of_run = {"jit(_add_gradients)": 6, "jit(_updated)": 1, "jit(of_values)": 2}
    for _, before, after in (first, second):
        counted = Counter(before)
        assert {name: counted[name] for name in of_run} == of_run
        assert after == []
    *_, misses = trained(data, tmp_path / "again", cache, devices=devices)
    assert misses == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["classify", "embed"])
def test_fine_tuning_compiles_for_each_width_before_its_first_step(kind, tmp_path):
    """Rows of 5 to 126 tokens have two widths; vectors are computed before their gradients."""
    pytest.importorskip("jax")
    environment = os.environ | {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}
    before, after = answered(TUNING, kind, str(tmp_path / "run"), environment=environment)
    counted = Counter(before)
    of_steps = {"jit(_add_gradients)": 2, "jit(_updated)": 1}
    measuring = {"jit(of_values)": 2 if kind == "classify" else 4}
    assert {name: counted[name] for name in of_steps | measuring} == of_steps | measuring
    assert after == []
