"""Several hosts that train together, as a command meets them."""

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from cli.support.console import tell
from cli.support.options import stacked
from schemas.errors import SettingError
from schemas.readable import in_a_line

if TYPE_CHECKING:
    from albert_tf.hosts import Hosts, HostSetting


# The flags that say which of several hosts this is.
host_options = stacked(
    click.option(
        "--coordinator",
        metavar="HOST:PORT",
        help="Where the first of several hosts listens, on any free port; give all hosts the same.",
    ),
    click.option(
        "--num-hosts",
        type=int,
        metavar="N",
        help="Train on this many hosts together; 1 for this one alone.  [default: what "
        "JAX finds out from Slurm, Open MPI, a TPU pod or Kubernetes]",
    ),
    click.option(
        "--host-index",
        type=int,
        metavar="I",
        help="Which of several hosts this is, from 0; only host 0 writes --output.",
    ),
)


@contextlib.contextmanager
def together(place: "HostSetting | None", *, debug: bool) -> "Iterator[Hosts]":
    """Train together with other hosts while the block runs, or alone."""
    if place is None:
        from albert_tf.hosts import ONE_HOST

        yield ONE_HOST
        return
    # Set by albert_tf, which the place comes from.
    if os.environ["KERAS_BACKEND"] != "jax":
        raise SettingError(
            f"Several hosts train together on JAX only: set KERAS_BACKEND=jax on each "
            f"of the {place.num_hosts}, or give --num-hosts 1 to train alone."
        )
    from albert_tf.hosts import joined

    joining = joined(place, say_last=lambda sentence: tell(f"Error: {in_a_line(sentence)}"))
    with contextlib.nullcontext() if debug else _native_silence(), joining as together:
        yield together


@contextlib.contextmanager
def _native_silence() -> Iterator[None]:
    """Keep what native code writes about connections, made and broken, from people.

    Python's stderr goes on; nothing here writes to stdout.
    """
    before, kept = sys.stderr, [os.dup(1), os.dup(2)]
    with (
        open(kept[1], "w", buffering=1, errors="backslashreplace") as ours,
        open(os.devnull, "w") as nowhere,
    ):
        before.flush()
        sys.stderr = ours
        for descriptor in (1, 2):
            os.dup2(nowhere.fileno(), descriptor)
        try:
            yield
        finally:
            sys.stderr = before
            for descriptor, original in zip((1, 2), kept, strict=True):
                os.dup2(original, descriptor)
            os.close(kept[0])
