"""Several hosts train as one, and none is left waiting when one of them ends.

The hosts are processes of this machine, with a device each.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import safetensors.numpy

from albert_tf.runs.metrics import read_metrics
from tests.servers import free_port

MODEL = {
    "vocab_size": 400,
    "embedding_size": 8,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 32,
}
SETTINGS = (
    *("--batch-size", 11, "--micro-batch-size", 2, "--warmup-steps", 5),
    *("--learning-rate", 0.01, "--eval-every", 10, "--checkpoint-every", 5),
)
LOST = (
    "Error: Another host was lost, or failed and says why; run the same command on all "
    "hosts again to continue from the newest checkpoint."
)
# So many that a signal comes before the last one.
STEPS = 120
# More than any step of such a model, and what is waited for a host that starts.
LONG = 300
# Less than JAX by itself waits for a host that is silent, however slow the machine is.
SOON = 90


@contextlib.contextmanager
def started(small, run, *, hosts, steps, devices=1, dropout=0.0, begin="", more=()):
    """The processes of a training; none is left when the block ends.

    `small` has the data set; the architecture is put beside the run. Each process does what
    is to `begin` with before.
    """
    model = run.with_name(f"model-{dropout}.json")
    model.write_text(json.dumps(MODEL | {"hidden_dropout_prob": dropout}))
    program = [sys.executable, "-c", f"{begin}from cli.main import cli; cli()", "pretrain"]
    command = ["--data", small / "data", "--output", run, "--model", model]
    command += ["--steps", steps, *SETTINGS, *more]
    coordinator = f"localhost:{free_port()}"
    environment = os.environ | {
        "KERAS_BACKEND": "jax",
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}",
    }
    processes = []
    try:
        for index in range(hosts):
            place = ["--coordinator", coordinator, "--num-hosts", hosts]
            place += ["--host-index", index]
            arguments = map(str, [*program, *command, *place])
            processes.append(
                subprocess.Popen(
                    list(arguments), env=environment, stderr=subprocess.PIPE, text=True
                )
            )
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def trained(*arguments, **settings):
    """Train to the end on some hosts."""
    with started(*arguments, **settings) as processes:
        said = [process.communicate(timeout=LONG)[1] for process in processes]
        assert [process.returncode for process in processes] == [0] * len(said), said


def wait_for_step(run, step):
    """Until a checkpoint of a step, or of a later one, is there."""
    end = time.monotonic() + LONG
    while time.monotonic() < end:
        if newest(run) >= step:
            return
        time.sleep(0.05)
    raise AssertionError(f"{run} has no checkpoint of step {step} in time")


def newest(run):
    path = run / "checkpoints/latest"
    found = re.findall(r"\d+", path.read_text()) if path.exists() else []
    return int(found[0]) if found else -1


def final(run, step):
    """The tensors of a checkpoint as bytes, and the metrics but for times."""
    folder = run / f"checkpoints/step-{step:08}"
    files = [(folder / f"{part}.safetensors").read_bytes() for part in PARTS]
    times = ("sequences_per_second", "seconds")
    lines = [
        {name: value for name, value in line.items() if name not in times}
        for line in read_metrics(run)
    ]
    return files, lines


PARTS = ("model", "optimizer")


# Programs are kept as where there is a GPU.
KEEPING = """
import os
os.environ["JAX_COMPILATION_CACHE_DIR"] = {!r}
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"
"""

# A vocabulary of 400 has few enough candidates too.
FEW = """
from albert_tf.model import sampled_softmax
sampled_softmax.LEAST_DRAWN, sampled_softmax.MOST_CANDIDATES = 40, 1
"""


@pytest.mark.slow
def test_two_hosts_write_the_bytes_of_one_with_two_devices(small, tmp_path):
    """With dropout, a sampled softmax, a last micro-batch that is not full, and evaluations.

    Programs of several are not kept: a host without one would wait for those that have it.
    """
    pytest.importorskip("jax")
    cache = tmp_path / "cache"
    sampled = ("--sampled-softmax", "--schedule", "constant-cooldown")
    given = {"steps": 20, "dropout": 0.1, "more": sampled}
    given["begin"] = KEEPING.format(str(cache)) + FEW
    trained(small, tmp_path / "one", hosts=1, devices=2, **given)
    kept = sorted(cache.iterdir())
    trained(small, tmp_path / "two", hosts=2, **given)
    assert kept
    assert sorted(cache.iterdir()) == kept
    assert "sampled_mlm_loss" in read_metrics(tmp_path / "two")[-3]
    assert final(tmp_path / "two", 20) == final(tmp_path / "one", 20)


@pytest.mark.slow
def test_a_host_that_is_killed_ends_the_others_with_a_sentence(small, tmp_path):
    """Whichever it is; with both there again the run goes on."""
    pytest.importorskip("jax")
    run = tmp_path / "run"
    for victim in (0, 1):
        with started(small, run, hosts=2, steps=4000) as processes:
            wait_for_step(run, newest(run) + 5)
            processes[victim].kill()
            other = processes[1 - victim]
            said = other.communicate(timeout=SOON)[1]
        assert other.returncode == 1
        # The connections of JAX may add lines of their own.
        assert [line for line in said.splitlines() if line.startswith("Error:")] == [LOST]
        assert "Traceback" not in said
    with started(small, run, hosts=2, steps=4000):
        wait_for_step(run, newest(run) + 5)


@pytest.fixture(scope="module")
def whole(small, tmp_path_factory):
    """A run of two hosts that nothing stopped."""
    pytest.importorskip("jax")
    run = tmp_path_factory.mktemp("whole") / "run"
    trained(small, run, hosts=2, steps=STEPS)
    return run


@pytest.fixture(scope="module")
def stopped(small, tmp_path_factory):
    """The folder of the same, which a signal to one of them stopped."""
    folder = tmp_path_factory.mktemp("stopped")
    run = folder / "run"
    with started(small, run, hosts=2, steps=STEPS) as processes:
        wait_for_step(run, 5)
        processes[1].send_signal(signal.SIGTERM)
        said = [process.communicate(timeout=SOON)[1] for process in processes]
    assert [process.returncode for process in processes] == [143, 143], said
    assert f"stopped (terminated) after {newest(run)} of {STEPS} steps" in said[0]
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("hosts", [1, 2, 3])
def test_a_signal_to_one_stops_all_and_any_number_goes_on(whole, stopped, small, tmp_path, hosts):
    shutil.copytree(stopped, tmp_path, dirs_exist_ok=True)
    run, steps = tmp_path / "run", STEPS
    trained(small, run, hosts=hosts, steps=steps)
    if hosts == 2:
        assert final(run, steps) == final(whole, steps)
        return
    ours, theirs = (
        safetensors.numpy.load_file(path / f"checkpoints/step-{steps:08}/model.safetensors")
        for path in (run, whole)
    )
    for name, values in theirs.items():
        if not name.endswith("key/bias"):  # its gradient is rounding alone
            norm = np.linalg.norm(values)
            assert np.linalg.norm(ours[name] - values) <= 3e-4 * norm, name


IMPATIENT = """
from albert_tf import hosts
hosts.JOIN_SECONDS = 5
from cli.main import cli
cli()
"""


@pytest.mark.slow
@pytest.mark.parametrize("index", [0, 1])
def test_a_host_that_finds_no_other_says_where_it_looked(small, tmp_path, index):
    pytest.importorskip("jax")
    coordinator = f"localhost:{free_port()}"
    place = ("--coordinator", coordinator, "--num-hosts", 2, "--host-index", index)
    arguments = ("--data", small / "data", "--output", tmp_path / "run", *place)
    done = subprocess.run(
        [sys.executable, "-c", IMPATIENT, "pretrain", *map(str, arguments)],
        env=os.environ | {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"},
        stderr=subprocess.PIPE,
        text=True,
        timeout=LONG,
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(
        f"Error: Host {index} of 2 did not find the others at {coordinator} within 5 s"
    )
    assert line.endswith(
        "; start the command on all of them, with --host-index 0 on the host that "
        "--coordinator names."
    )
    assert not (tmp_path / "run").exists()
