"""What JAX compiles, and how often."""

import json
import os
import subprocess
import sys

import pytest

from tests.training_data import write_dataset

TRAINING = """
import json, logging, sys
from pathlib import Path
import jax

compiled = []

class Compilations(logging.Handler):
    def emit(self, record):
        words = record.getMessage().split()
        if words[0] == "Compiling":
            compiled.append(words[1])

jax.config.update("jax_log_compiles", True)
logging.getLogger("jax").addHandler(Compilations())

from albert_tf.training.pretraining import pretrain
from schemas.config import TrainConfig
from tests.training_data import resolved_run, signal_at_step
data, run = map(Path, sys.argv[1:])
config = TrainConfig(batch_size=8, micro_batch_size=2, steps=8, eval_every=2)
signal_at_step(3)

def steps_and_compiled():
    compiled.clear()
    result = pretrain(resolved_run(data, run, config))
    ours = [n for n in compiled if "of_values" in n or n.startswith("jit(_")]
    return result.step, sorted(ours)

print(json.dumps([steps_and_compiled(), steps_and_compiled()]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("devices", [1, 2])
def test_every_function_is_compiled_once_in_a_run_and_once_when_it_goes_on(tmp_path, devices):
    """Not again for arrays that lie elsewhere: first ones, or those of a checkpoint."""
    pytest.importorskip("jax")
    write_dataset(tmp_path / "data")
    environment = os.environ | {
        "KERAS_BACKEND": "jax",
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}",
    }
    arguments = [str(tmp_path / "data"), str(tmp_path / "run")]
    command = [sys.executable, "-c", TRAINING, *arguments]
    done = subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, text=True)
    (stopped, first), (finished, second) = json.loads(done.stdout.splitlines()[-1])
    once = ["jit(_add_gradients)", "jit(_updated)", "jit(of_values)"]
    assert first == second == once
    assert stopped < finished == 8
