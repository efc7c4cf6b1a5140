"""`albert worker`: workers of make-data for a cluster, without Beam's image."""

import threading

import click

from cli.support.console import Console, is_debugging, silent_logging
from cli.support.options import debug_option, quiet_option


@click.command(
    epilog="Example:  albert worker --address localhost:50000",
    context_settings={"ignore_unknown_options": True},
)
@click.option(
    "--address",
    default="localhost:50000",
    metavar="HOST:PORT",
    help="Where engines ask for workers. Only its own user's engines are served.",
)
@click.option(
    "--open",
    "is_open",
    is_flag=True,
    help="Work for other users, and let --address be one that other machines reach.",
)
@quiet_option()
@debug_option
@click.argument("boot_options", nargs=-1, metavar="[BOOT OPTIONS]")
def worker_command(
    address: str, is_open: bool, console: Console, boot_options: tuple[str, ...]
) -> None:
    """Start workers of make-data when an engine asks for them.

    Run one on every machine of a cluster that is to work, and give make-data
    --environment_type=EXTERNAL --environment_config=localhost:50000 after --: to each
    machine of a cluster localhost is that machine. Whoever is served can run programs
    here: with --open these are other users too. With --id and --provision_endpoint,
    which are added by an engine that starts its workers itself
    (--environment_type=PROCESS), this is such a worker.
    """
    with silent_logging():
        from pipeline.job.cluster_worker import boot, check_address, worker_pool
    if boot_options:
        boot(boot_options, debug=is_debugging())
        return
    check_address(address, is_open=is_open)
    with worker_pool(address, is_open=is_open, debug=is_debugging()) as address:
        console.say(f"Workers are started at {address}; Ctrl-C ends them.")
        threading.Event().wait()
