"""Which of several hosts this process is, as the flags or its launcher say."""

import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from schemas.config import flag_name
from schemas.errors import SettingError

Environment = Mapping[str, str]
Found = dict[str, Any]

# Ports that JAX chooses where a launcher names none: one for TPUs, for others one of
# the last ones, by the number of the job.
TPU_PORT, LAST_PORT, PORTS = 8482, 65535, 4096


class HostSetting(NamedTuple):
    """This process among those that train together, one on each host as a rule.

    Attributes:
        coordinator: `HOST:PORT`, where the first one listens.
        num_hosts: How many there are, at least two.
        host_index: Which one this is, from 0.
        local_index: Which one on its machine, where that has several: it computes on
            the device of that number alone.
    """

    coordinator: str
    num_hosts: int
    host_index: int
    local_index: int | None = None


@dataclasses.dataclass(frozen=True)
class Launcher:
    """A program that starts the processes, and what it tells each of them.

    Attributes:
        name: For people.
        needs: Variables that it always sets.
        finds: What they say, by the names of `HostSetting`.
    """

    name: str
    needs: tuple[str, ...]
    finds: Callable[[Environment], Found]


def host_setting(
    environment: Environment,
    *,
    coordinator: str | None = None,
    num_hosts: int | None = None,
    host_index: int | None = None,
) -> HostSetting | None:
    """The place of this process among several; None if it is alone.

    Args:
        environment: Variables of the process.
        coordinator: As `HostSetting` has it, if it is given; as are the others.
        num_hosts: Wins over what the environment says.
        host_index: Likewise.

    Raises:
        SettingError: Something is missing or cannot be true; names the flag.

    >>> torchrun = {"MASTER_ADDR": "a", "MASTER_PORT": "29500"}
    >>> host_setting(torchrun | {"WORLD_SIZE": "4", "RANK": "3"})
    HostSetting(coordinator='a:29500', num_hosts=4, host_index=3, local_index=None)
    >>> host_setting(torchrun | {"WORLD_SIZE": "1", "RANK": "0"})
    """
    flags = {
        "coordinator": coordinator,
        "num_hosts": num_hosts,
        "host_index": host_index,
    }
    given = {name: value for name, value in flags.items() if value is not None}
    if num_hosts == 1:
        return None
    who, found = ("", {}) if len(given) == len(flags) else _found(environment)
    values = found | given
    if values.get("num_hosts") == 1 or not (given or "num_hosts" in found):
        return None
    missing = [flag_name(name) for name in flags if name not in values]
    if missing:
        source = "on the command line" if given else f"by {who}"
        raise SettingError(
            f"Several hosts are asked for {source}, but {' and '.join(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} neither given nor found in the "
            "environment; give all of --coordinator, --num-hosts and --host-index."
        )
    _check(values)
    return HostSetting(**values)


def _check(values: Found) -> None:
    """Refuse an impossible place."""
    coordinator = values["coordinator"]
    if not re.fullmatch(r"(\[.+\]|[^:\s]+):\d{1,5}", coordinator):
        raise SettingError(
            f"--coordinator must be HOST:PORT of the first host, not {coordinator!r}."
        )
    number, index = values["num_hosts"], values["host_index"]
    if number < 1:
        raise SettingError(f"--num-hosts must be at least 1, not {number}.")
    if not 0 <= index < number:
        raise SettingError(
            f"--host-index must be from 0 to {number - 1} with --num-hosts {number}, "
            f"not {index}."
        )


def _found(environment: Environment) -> tuple[str, Found]:
    """What the environment says, and who wrote it there."""
    for launcher in LAUNCHERS:
        if all(environment.get(name) for name in launcher.needs):
            try:
                return launcher.name, launcher.finds(environment)
            except (ValueError, IndexError) as error:
                names = ", ".join(launcher.needs)
                raise SettingError(
                    f"The environment does not say which of several hosts this is as "
                    f"{launcher.name} would ({names}: {error}); give --coordinator, "
                    "--num-hosts and --host-index, or --num-hosts 1 to train alone."
                ) from error
    return "", {}


def _of_jax(environment: Environment) -> Found:
    return {
        "coordinator": environment["JAX_COORDINATOR_ADDRESS"],
        "num_hosts": int(environment["JAX_NUM_PROCESSES"]),
    } | _index(environment, "JAX_PROCESS_ID", "JOB_COMPLETION_INDEX")


def _of_torchrun(environment: Environment) -> Found:
    port = int(environment["MASTER_PORT"])
    # Its own agent already listens on that port.
    port += environment.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    local = environment.get("LOCAL_RANK", "")
    return {
        "coordinator": f"{environment['MASTER_ADDR']}:{port}",
        "num_hosts": int(environment["WORLD_SIZE"]),
        "host_index": int(environment["RANK"]),
    } | _local(local, is_shared=int(environment.get("LOCAL_WORLD_SIZE", 1)) > 1)


def _of_tpus(environment: Environment) -> Found:
    hosts = environment["TPU_WORKER_HOSTNAMES"].split(",")
    return {
        "coordinator": f"{hosts[0]}:{TPU_PORT}",
        "num_hosts": len(hosts),
        "host_index": int(environment["TPU_WORKER_ID"]),
    }


def _of_open_mpi(environment: Environment) -> Found:
    """Open MPI 5 no longer says where the first process is."""
    found: Found = {
        "num_hosts": int(environment["OMPI_COMM_WORLD_SIZE"]),
        "host_index": int(environment["OMPI_COMM_WORLD_RANK"]),
    }
    first = re.match(
        r"(\d+)\.\d+;tcp(?:://([^,:]+)|6://\[([^,\]]+))",
        environment.get("OMPI_MCA_orte_hnp_uri", ""),
    )
    if first:
        # Numbers of jobs are multiples of 4,096.
        port = _port(int(first[1]) // PORTS)
        found["coordinator"] = f"{first[2] or f'[{first[3]}]'}:{port}"
    local = environment.get("OMPI_COMM_WORLD_LOCAL_RANK", "")
    size = int(environment.get("OMPI_COMM_WORLD_LOCAL_SIZE", 1))
    return found | _local(local, is_shared=size > 1)


def _of_slurm(environment: Environment) -> Found:
    tasks = environment.get("SLURM_STEP_NUM_TASKS") or environment["SLURM_NTASKS"]
    nodes = environment["SLURM_STEP_NODELIST"]
    job = int(environment["SLURM_JOB_ID"])
    # `2(x3),1`: two tasks on each of three nodes, and one on the last.
    shared = re.search(
        r"\b([2-9]|\d\d)", environment.get("SLURM_STEP_TASKS_PER_NODE", "1")
    )
    return {
        "coordinator": f"{_first_node(nodes)}:{_port(job)}",
        "num_hosts": int(tasks),
        "host_index": int(environment["SLURM_PROCID"]),
    } | _local(environment.get("SLURM_LOCALID", ""), is_shared=bool(shared))


def _first_node(nodes: str) -> str:
    """The first of a list of nodes as Slurm writes it.

    >>> _first_node("node[007-015,020],other"), _first_node("node1,node2")
    ('node007', 'node1')
    """
    first = re.match(r"([^,\[]+)(?:\[([^,\-\]]+))?", nodes)
    if not first:
        raise ValueError(f"no node in {nodes!r}")
    return "".join(first.groups(""))


def _port(job: int) -> int:
    return LAST_PORT - PORTS + 1 + job % PORTS


def _of_kubernetes(environment: Environment) -> Found:
    """An indexed job says which pod this is, and not how many there are."""
    return _index(environment, "JOB_COMPLETION_INDEX")


def _index(environment: Environment, *names: str) -> Found:
    """The first of some variables that is there."""
    said = [environment[name] for name in names if environment.get(name)]
    return {"host_index": int(said[0])} if said else {}


def _local(index: str, *, is_shared: bool) -> Found:
    """The number on a machine that others share, if it is known."""
    return {"local_index": int(index)} if is_shared and index else {}


# A launcher that runs inside another comes first.
LAUNCHERS = (
    Launcher("JAX", ("JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES"), _of_jax),
    Launcher(
        "torchrun",
        ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK"),
        _of_torchrun,
    ),
    Launcher("a TPU pod", ("TPU_WORKER_HOSTNAMES", "TPU_WORKER_ID"), _of_tpus),
    Launcher(
        "Open MPI", ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"), _of_open_mpi
    ),
    Launcher(
        "Slurm",
        ("SLURM_JOB_ID", "SLURM_STEP_NODELIST", "SLURM_PROCID", "SLURM_NTASKS"),
        _of_slurm,
    ),
    Launcher("Kubernetes", ("JOB_COMPLETION_INDEX",), _of_kubernetes),
)
