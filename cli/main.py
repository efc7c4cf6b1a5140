"""The command `albert` and how each of its commands ends."""

import contextlib
import difflib
import errno
import io
import itertools
import os
import re
import resource
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from typing import Any, NoReturn

import click

from cli import ended_by
from cli.commands import (
    analyze,
    embed,
    evaluate,
    export,
    fill_mask,
    finetune,
    import_model,
    inspect,
    make_data,
    order,
    plan,
    predict,
    pretrain,
    report,
    vocab,
    worker,
)
from cli.support.console import is_debugging, tell
from schemas import __version__
from schemas.errors import ENDING, FORM, AlbertError
from schemas.readable import in_a_line, printable

# What Python and the system's loader say where an error has no type of its own.
_NO_MEMORY = re.compile(
    "can't start new thread|failed to map segment|cannot allocate memory"
    "|RESOURCE_EXHAUSTED|out.of.memory|OOM when",
    re.I,
)

# What the system refuses under a limit, or on a full disk, where no file is named.
_LIMITS = (errno.EMFILE, errno.ENFILE, errno.EFBIG, errno.ENOSPC, errno.EDQUOT)


class Terminated(BaseException):
    """A signal to end; raised so that files and locks are cleaned up on the way out."""


class AlbertGroup(click.Group):
    """A group whose commands end in one sentence, never in a traceback."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by topic, with the first sentence of each help."""
        for topic, commands in TOPICS.items():
            with formatter.section(topic):
                formatter.write_dl(
                    [(str(c.name), c.get_short_help_str(limit=90)) for c in commands]
                )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that was typed; of one that is not there, which does the same."""
        if not ctx.resilient_parsing and args[0] not in self.commands:
            near = difflib.get_close_matches(args[0], self.commands, n=1)
            if instead := INSTEAD.get(args[0]) or (near and f"albert {near[0]}"):
                ctx.fail(f"No such command {args[0]!r}; give {instead}.")
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands, in the order of their topics."""
        return list(self.commands)

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command and exit with its code."""
        is_process = not args and "args" not in kwargs
        has_ended_well = False
        # A notebook names a way to draw that only its own environment has.
        os.environ.pop("MPLBACKEND", None)
        _prepare_streams()
        # What people read, also while a library is imported and standard error is silent.
        shown = os.dup(2)
        heard = _hear_signals(shown)
        try:
            kwargs["standalone_mode"] = False
            code = super().main(*args, **kwargs) or 0
            sys.stdout.flush()
            has_ended_well = code == 0
        except click.exceptions.Exit as request:
            code = request.exit_code
        except click.ClickException as error:
            said = io.StringIO()
            error.show(file=said)
            for line in said.getvalue().rstrip("\n").split("\n"):
                tell(in_a_line(line))
            code = error.exit_code
        except (KeyboardInterrupt, click.Abort, Terminated) as error:
            is_interrupt = not isinstance(error, Terminated)
            sentence, code = ended_by(signal.SIGINT if is_interrupt else signal.SIGTERM)
            # click hides what the interrupt may have said.
            _fail(str(error.__cause__ or error) or sentence)
        except BrokenPipeError:
            # Whoever reads the output has seen enough.
            code = 0
        except Exception as error:
            if isinstance(error, AlbertError):
                code = _fail(str(error), code=error.exit_code)
            elif heard:
                # A library made another error of it.
                sentence, code = ended_by(heard[0])
                _fail(sentence)
            else:
                code = _fail(_unforeseen(error))
        os.close(shown)
        # Libraries' threads may not end after an error, or wait for other hosts.
        _leave(code, at_once=is_process and not has_ended_well)


class Output(io.TextIOWrapper):
    """Standard output that is `printable`, and whose errors are sentences.

    A closed pipe stays what it is.
    """

    def write(self, text: str, /) -> int:  # noqa: D102
        with self._explained():
            return super().write(printable(text))

    def flush(self) -> None:  # noqa: D102
        with self._explained():
            super().flush()

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            raise
        except UnicodeEncodeError as error:
            raise AlbertError(
                f"{error.object[error.start]!a} cannot be written in {error.encoding}, "
                "the encoding of the output; set PYTHONIOENCODING=utf-8."
            ) from error
        except OSError as error:
            raise AlbertError(f"The output cannot be written: {error.strerror}.") from error


def _prepare_streams() -> None:
    """Have errors of stdout explained, and a place for what a daemon has closed.

    Without one the next file to be opened would get the number of stderr, and what
    native code prints would end in it.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            try:
                os.fstat(number)
            except OSError:
                os.dup2(nowhere, number)
            setattr(sys, name, open(nowhere, "w" if number else "r"))  # noqa: SIM115
    if type(sys.stdout) is io.TextIOWrapper:
        encoding, errors = sys.stdout.encoding, sys.stdout.errors
        is_terminal = sys.stdout.line_buffering
        buffer = sys.stdout.detach()
        sys.stdout = Output(buffer, encoding, errors, line_buffering=is_terminal)


def _leave(code: int, *, at_once: bool) -> NoReturn:
    try:
        sys.stdout.flush()
    except (OSError, AlbertError):
        # What cannot be written goes nowhere, or Python would say so at its end.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
    if at_once:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _hear_signals(shown: int) -> list[int]:
    """End the command at Ctrl-C or a signal to end; gives the list of those that come.

    An ignored SIGHUP or SIGINT stays so, as nohup and the background of a shell ask.

    Args:
        shown: The file descriptor of the terminal, which is told of a Ctrl-C at once.
    """
    heard: list[int] = []

    def hear(number: int, frame: object) -> NoReturn:
        heard.append(number)
        if number == signal.SIGXCPU:
            # A limit of processor time sends it every second until the hard limit.
            signal.signal(number, signal.SIG_IGN)
        if number != signal.SIGINT:
            raise Terminated
        # Ending what runs may take a moment.
        if os.isatty(shown):
            os.write(shown, b"\nStopping ...\n")
        raise KeyboardInterrupt

    def lost(unraisable: "sys.UnraisableHookArgs") -> None:
        # Raised in the end of an object, as importing makes many, it has ended nothing.
        if heard and isinstance(unraisable.exc_value, KeyboardInterrupt | Terminated):
            threading.Timer(0.05, os.kill, (os.getpid(), heard[-1])).start()
        else:
            sys.__unraisablehook__(unraisable)

    sys.unraisablehook = lost
    for number in (*ENDING, signal.SIGINT):
        may_be_ignored = number in (signal.SIGHUP, signal.SIGINT)
        if not (may_be_ignored and signal.getsignal(number) is signal.SIG_IGN):
            signal.signal(number, hear)
    return heard


def _unforeseen(error: Exception) -> str:
    """What to say of an error that nothing has explained."""
    if _is_for_want_of_memory(error):
        return (
            "There is not enough memory, or not enough threads are allowed; give the command "
            "more, or fewer --workers (vocab, make-data) or a smaller --micro-batch-size."
        )
    if "cudnn" in str(error).lower():
        said = str(error).splitlines()[0].rstrip(".")
        return f"cuDNN failed ({said:.200}); --precision float32 does without its attention."
    if isinstance(error, OSError) and error.filename and error.strerror:
        # Whoever opens a file says more; this is of a folder on the way to one.
        return f"{error.filename:.200} cannot be used: {error.strerror}."
    if isinstance(error, OSError) and error.errno in _LIMITS:
        return (
            f"A limit or a full disk is in the way: {error.strerror}; raise the limit "
            "(ulimit -a shows it), or make room, and run the same command again."
        )
    kind = type(error).__name__
    return f"Unexpected {kind}: {error} (--debug shows where it happened)."


def _is_for_want_of_memory(error: Exception) -> bool:
    """Whether the system refused memory or a thread, in the words of any library."""
    if isinstance(error, OSError) and error.errno in (errno.ENOMEM, errno.EAGAIN):
        return True
    if isinstance(error, MemoryError) or _NO_MEMORY.search(str(error)):
        return True
    # A library that got no memory while it was imported is there in part.
    is_limited = resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY
    is_of_import = isinstance(error, ImportError) or "partially init" in str(error)
    return is_limited and is_of_import


def _fail(sentence: str, *, code: int = 1) -> int:
    if is_debugging():
        tell(traceback.format_exc())
    sentence, form, rows = sentence.partition(f"{FORM}\n")
    tell(f"Error: {in_a_line(sentence)}{form.strip()}")
    for row in rows.splitlines():
        tell(f"  {in_a_line(row)}")
    return code


@click.group(
    cls=AlbertGroup,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 80,
        "show_default": True,
    },
    epilog="Start with:  albert vocab --text my-text/ --vocab-size auto --output vocab",
)
@click.version_option(__version__, prog_name="albert")
def cli() -> None:
    """Pretrain an ALBERT on your own language or domain.

    Three commands lead from raw text to a trained model: vocab makes a SentencePiece
    vocabulary, make-data makes TFRecords of masked sentence pairs, pretrain trains.
    """


# In the order of a person's questions.
TOPICS = {
    "From text to a model": (
        vocab.vocab_command,
        make_data.make_data_command,
        pretrain.pretrain_command,
    ),
    "How good it is": (
        evaluate.evaluate_command,
        fill_mask.fill_mask_command,
        order.order_command,
        report.report_command,
        inspect.inspect_command,
    ),
    "Use it for a task": (finetune.finetune_command, predict.predict_command, embed.embed_command),
    "In and out of other programs": (export.export_command, import_model.import_command),
    "Look closer": (plan.plan_command, analyze.analyze_group, worker.worker_command),
}
# What people look for under other names.
INSTEAD = {
    "help": "albert --help, or albert COMMAND --help",
    "status": "albert inspect RUN",
    "compare": "albert report RUN RUN",
    "train": "albert pretrain",
}
for command in itertools.chain(*TOPICS.values()):
    cli.add_command(command)
