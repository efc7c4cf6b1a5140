"""Questions to a process of its own: JSON after --worker, answered on its last line."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any


def ask(module: str, question: Any, **how: Any) -> Any:
    """What a program of this folder answers in a process of its own.

    Args:
        module: Of the program.
        question: The value of its --worker, anything that JSON has.
        how: See `start`.

    Raises:
        subprocess.CalledProcessError: It failed.
    """
    with start(module, question, **how) as process:
        return answer_of(process)


def start(
    module: str,
    question: Any,
    *,
    before: Sequence[str] = (),
    environment: Mapping[str, str] = MappingProxyType({}),
    **pipes: int,
) -> "subprocess.Popen[str]":
    """Have a program of this folder begin to answer.

    Args:
        module: As for `ask`.
        question: As for `ask`.
        before: What the program is started by, such as `taskset`.
        environment: Variables that it has beside those of this process.
        pipes: `stdin` and `stderr`, unless they are those of this process.
    """
    return subprocess.Popen(
        [*before, sys.executable, "-m", module, "--worker", json.dumps(question)],
        stdout=subprocess.PIPE,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **environment},
        text=True,
        **pipes,
    )


def answer_of(process: "subprocess.Popen[str]") -> Any:
    """The answer of a program that was started.

    Raises:
        subprocess.CalledProcessError: It failed.
    """
    said, complaint = process.communicate()
    if process.returncode:
        raise subprocess.CalledProcessError(
            process.returncode, process.args, output=said, stderr=complaint
        )
    return json.loads(said.splitlines()[-1])
