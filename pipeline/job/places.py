"""Where the workers and the engine of a job are, by Beam's options.

Workers on this machine see its files, others do not; and an engine that was started for
one command ends with it.
"""

import json
import re
from typing import NamedTuple
from urllib.parse import urlsplit

from apache_beam.options.pipeline_options import (
    FlinkRunnerOptions,
    PipelineOptions,
    PortableOptions,
    SparkRunnerOptions,
)

_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
# Masters that are started for one command, inside its job server.
_EMBEDDED_FLINK = ("[auto]", "[local]", "[collection]")
_EMBEDDED_SPARK = re.compile(r"local(\[.+\])?")


class Engine(NamedTuple):
    """What distributes the work.

    Attributes:
        is_here: Whether it is on this machine, so that `localhost` names it there too.
        ends_with_command: Whether it is started for one command and ends with it.
        environment: How it starts workers unless it is told.
    """

    is_here: bool
    ends_with_command: bool
    environment: str


def engine_of(runner: str, options: PipelineOptions) -> Engine:
    """The engine of a portable runner, or of Dataflow."""
    portable = options.view_as(PortableOptions)
    if runner == "PrismRunner":
        return Engine(is_here=True, ends_with_command=True, environment="LOOPBACK")
    if portable.job_endpoint == "embed":
        return Engine(is_here=True, ends_with_command=True, environment="DOCKER")
    if portable.job_endpoint:
        return Engine(
            is_here=_is_here(portable.job_endpoint),
            ends_with_command=False,
            environment=_default_environment(runner, options),
        )
    if runner == "FlinkRunner":
        flink = options.view_as(FlinkRunnerOptions)
        is_embedded = flink.flink_master in _EMBEDDED_FLINK
        return Engine(
            is_here=is_embedded or _is_here(flink.flink_master),
            ends_with_command=is_embedded,
            environment=_default_environment(runner, options),
        )
    if runner == "SparkRunner":
        spark = options.view_as(SparkRunnerOptions)
        # Without an uber jar the driver is in the job server.
        is_uber = spark.spark_submit_uber_jar
        place = spark.spark_rest_url if is_uber else spark.spark_master_url
        return Engine(
            is_here=bool(_EMBEDDED_SPARK.fullmatch(place or ""))
            or _is_here(place or ""),
            ends_with_command=not is_uber,
            environment=_default_environment(runner, options),
        )
    return Engine(is_here=False, ends_with_command=False, environment="DOCKER")


def _default_environment(runner: str, options: PipelineOptions) -> str:
    """What Beam takes where --environment_type is not given."""
    flink = options.view_as(FlinkRunnerOptions).flink_master
    spark = options.view_as(SparkRunnerOptions).spark_master_url
    is_embedded = (runner == "FlinkRunner" and flink in ("[auto]", "[local]")) or (
        runner == "SparkRunner" and bool(_EMBEDDED_SPARK.fullmatch(spark))
    )
    return "LOOPBACK" if is_embedded else "DOCKER"


def has_workers_here(runner: str, options: PipelineOptions) -> bool:
    """Whether the workers of a job share this machine's files."""
    portable = options.view_as(PortableOptions)
    if runner == "DataflowRunner":
        return False
    engine = engine_of(runner, options)
    kind = portable.environment_type or engine.environment
    if kind == "EXTERNAL":
        return engine.is_here and _is_here(_pool_address(portable))
    # Workers of LOOPBACK are of this process, wherever the engine is.
    return kind == "LOOPBACK" or (kind == "PROCESS" and engine.is_here)


def ends_with_command(runner: str, options: PipelineOptions) -> bool:
    """Whether a job ends when the command that waits for it does."""
    if runner == "DataflowRunner":
        return False
    engine = engine_of(runner, options)
    kind = options.view_as(PortableOptions).environment_type or engine.environment
    return engine.ends_with_command or kind == "LOOPBACK"


def _pool_address(portable: PortableOptions) -> str:
    """Where the pool of EXTERNAL is: `host:port`, or JSON with a `url`."""
    given = portable.environment_config or ""
    try:
        return str(json.loads(given)["url"])
    except (ValueError, TypeError, KeyError):
        return given


def _is_here(address: str) -> bool:
    """Whether an address is of this machine.

    >>> _is_here("http://localhost:8081"), _is_here("[::1]:9"), _is_here("node7:9")
    (True, True, False)
    """
    if "://" not in address:
        address = f"//{address}"
    return urlsplit(address).hostname in _THIS_MACHINE
