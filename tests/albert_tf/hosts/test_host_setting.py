"""Every launcher says in its own variables which of several hosts a process is."""

import pytest

from albert_tf.hosts.host_setting import HostSetting, host_setting
from schemas.errors import SettingError

SLURM = {
    "SLURM_JOB_ID": "5000",
    "SLURM_STEP_NODELIST": "node[007-009],other",
    "SLURM_NTASKS": "4",
    "SLURM_PROCID": "2",
    "SLURM_LOCALID": "0",
    "SLURM_STEP_TASKS_PER_NODE": "1(x4)",
}
OPEN_MPI = {
    "OMPI_MCA_orte_hnp_uri": "1531576320.0;tcp://10.96.0.1,10.148.0.1:34911",
    "OMPI_COMM_WORLD_SIZE": "8",
    "OMPI_COMM_WORLD_RANK": "5",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "4",
}
TORCHRUN = {
    "MASTER_ADDR": "10.0.0.1",
    "MASTER_PORT": "29500",
    "WORLD_SIZE": "2",
    "RANK": "1",
    "LOCAL_RANK": "0",
    "LOCAL_WORLD_SIZE": "1",
}
TPU = {"TPU_WORKER_HOSTNAMES": "t0,t1,t2", "TPU_WORKER_ID": "1"}
JAX = {"JAX_COORDINATOR_ADDRESS": "pod-0.pods:1234", "JAX_NUM_PROCESSES": "3"}
KUBERNETES = {"JOB_COMPLETION_INDEX": "2"}
FLAGS = {"coordinator": "a:1", "num_hosts": 2, "host_index": 1}


@pytest.mark.parametrize(
    ("environment", "flags", "expected"),
    [
        # Nobody says anything.
        ({}, {}, None),
        ({}, FLAGS, ("a:1", 2, 1)),
        ({}, FLAGS | {"coordinator": "[::1]:1"}, ("[::1]:1", 2, 1)),
        ({}, {"num_hosts": 1}, None),
        # Slurm: the port follows from the job.
        (SLURM, {}, ("node007:62344", 4, 2)),
        (SLURM | {"SLURM_STEP_NODELIST": "one,two"}, {}, ("one:62344", 4, 2)),
        (
            SLURM | {"SLURM_STEP_TASKS_PER_NODE": "2(x2)"},
            {},
            ("node007:62344", 4, 2, 0),
        ),
        (SLURM | {"SLURM_STEP_TASKS_PER_NODE": "1,3"}, {}, ("node007:62344", 4, 2, 0)),
        (SLURM | {"SLURM_STEP_TASKS_PER_NODE": "1(x16)"}, {}, ("node007:62344", 4, 2)),
        (SLURM | {"SLURM_NTASKS": "1", "SLURM_PROCID": "0"}, {}, None),
        (SLURM | {"SLURM_STEP_NUM_TASKS": "1"}, {}, None),
        # The script of a job is no step of it: nothing is started together.
        ({n: v for n, v in SLURM.items() if "STEP" not in n}, {}, None),
        (SLURM, {"coordinator": "b:2"}, ("b:2", 4, 2)),
        (SLURM, {"num_hosts": 1}, None),
        (SLURM, FLAGS, ("a:1", 2, 1)),
        # Open MPI, also inside a job of Slurm.
        (OPEN_MPI, {}, ("10.96.0.1:62624", 8, 5, 1)),
        (SLURM | OPEN_MPI, {}, ("10.96.0.1:62624", 8, 5, 1)),
        (
            OPEN_MPI
            | {"OMPI_MCA_orte_hnp_uri": "1314521088.0;tcp6://[fe80::b9b]:43370"},
            {},
            ("[fe80::b9b]:62880", 8, 5, 1),
        ),
        (
            OPEN_MPI | {"OMPI_COMM_WORLD_SIZE": "1", "OMPI_COMM_WORLD_RANK": "0"},
            {},
            None,
        ),
        # torchrun, whose own agent has the port, and others with its variables.
        (TORCHRUN, {}, ("10.0.0.1:29500", 2, 1)),
        (
            TORCHRUN | {"TORCHELASTIC_USE_AGENT_STORE": "True"},
            {},
            ("10.0.0.1:29501", 2, 1),
        ),
        (TORCHRUN | {"LOCAL_WORLD_SIZE": "2"}, {}, ("10.0.0.1:29500", 2, 1, 0)),
        (TORCHRUN | {"WORLD_SIZE": "1", "RANK": "0"}, {}, None),
        ({"RANK": "1", "WORLD_SIZE": "2"}, {}, None),
        # TPU pods.
        (TPU, {}, ("t0:8482", 3, 1)),
        ({"TPU_WORKER_HOSTNAMES": "localhost", "TPU_WORKER_ID": "0"}, {}, None),
        # Kubernetes says the index alone, also to jobs that have nothing in common.
        (KUBERNETES, {}, None),
        (KUBERNETES, {"coordinator": "p:1", "num_hosts": 3}, ("p:1", 3, 2)),
        (KUBERNETES | JAX, {}, ("pod-0.pods:1234", 3, 2)),
        (JAX | {"JAX_PROCESS_ID": "1"}, {}, ("pod-0.pods:1234", 3, 1)),
    ],
)
def test_a_process_finds_its_place(environment, flags, expected):
    found = host_setting(environment, **flags)
    assert found == (HostSetting(*expected) if expected else None)


@pytest.mark.parametrize(
    ("environment", "flags", "sentence"),
    [
        (
            {},
            {"num_hosts": 2},
            "Several hosts are asked for on the command line, but --coordinator and "
            "--host-index are neither given nor found in the environment; give all of "
            "--coordinator, --num-hosts and --host-index.",
        ),
        (
            {n: v for n, v in OPEN_MPI.items() if "uri" not in n},
            {},
            "Several hosts are asked for by Open MPI, but --coordinator is neither "
            "given nor found in the environment; give all of --coordinator, "
            "--num-hosts and --host-index.",
        ),
        (
            {},
            FLAGS | {"coordinator": "here"},
            "--coordinator must be HOST:PORT of the first host, not 'here'.",
        ),
        ({}, FLAGS | {"num_hosts": 0}, "--num-hosts must be at least 1, not 0."),
        (
            {},
            FLAGS | {"host_index": 2},
            "--host-index must be from 0 to 1 with --num-hosts 2, not 2.",
        ),
        (
            TORCHRUN | {"RANK": "first"},
            {},
            "The environment does not say which of several hosts this is as torchrun "
            "would (MASTER_ADDR, MASTER_PORT, WORLD_SIZE, RANK: invalid literal for "
            "int() with base 10: 'first'); give --coordinator, --num-hosts and "
            "--host-index, or --num-hosts 1 to train alone.",
        ),
    ],
)
def test_a_place_that_cannot_be_is_refused(environment, flags, sentence):
    with pytest.raises(SettingError) as caught:
        host_setting(environment, **flags)
    assert str(caught.value) == sentence
