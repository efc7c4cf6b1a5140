"""The failure of a step keeps its type on the way through Beam.

Beam hands a failure over as text, inside a traceback of its own. So a step writes into
that text, beside the sentence for people, what is needed to raise the same error again.
"""

import base64
import contextlib
import json
from collections.abc import Iterator

from pipeline.dataset.dataset import NothingToTrainOn
from schemas.errors import AlbertError, SettingError

# The types that a caller tells apart; any other of ours arrives as AlbertError.
_TYPES = {kind.__name__: kind for kind in (NothingToTrainOn, SettingError, AlbertError)}

# Around the encoded error; neither character is one of base64.
_START, _END = "<albert-error ", ">"


class StepError(Exception):
    """An error of ours on its way through Beam."""


@contextlib.contextmanager
def packed_errors() -> Iterator[None]:
    """Raise every error of ours as a `StepError` that `unpack` understands."""
    try:
        yield
    except AlbertError as error:
        raise StepError(f"{error} {pack(error)}") from error


def pack(error: AlbertError) -> str:
    """An error as text without line ends or quotes, which survives any traceback."""
    name = next(name for name, kind in _TYPES.items() if isinstance(error, kind))
    code = base64.b64encode(json.dumps([name, str(error)]).encode())
    return f"{_START}{code.decode()}{_END}"


def unpack(text: str) -> AlbertError | None:
    """The last error that was packed into a text, if there is one.

    >>> error = SettingError("x is empty.")
    >>> unpack(f"Traceback ... {pack(error)} [while running 'ReadChunk']")
    SettingError('x is empty.')
    """
    _, start, rest = text.rpartition(_START)
    if not start:
        return None
    name, sentence = json.loads(base64.b64decode(rest.partition(_END)[0]))
    return _TYPES[name](sentence)


def explain(error: BaseException) -> BaseException:
    """What to raise for an error that came out of Beam.

    That is the error of ours which a step packed; else the interrupt that Beam took for
    an error of a step; else the last line of what Beam says.
    """
    if isinstance(error, AlbertError):
        return error
    if (unpacked := unpack(str(error))) is not None:
        return unpacked
    for cause in _causes(error):
        if not isinstance(cause, Exception):
            return cause
    lines = [line for line in str(error).splitlines() if line.strip()]
    return AlbertError(f"The job failed: {lines[-1].strip() if lines else repr(error)}")


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and all that led to it."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__
