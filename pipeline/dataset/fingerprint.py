"""What decides every byte of a data set, and its hash: the fingerprint."""

import dataclasses
import unicodedata
from importlib.metadata import version
from typing import Any

from pipeline.reading.recognise import InputFile
from schemas import __version__
from schemas.config import ResolvedDataConfig, recorded
from schemas.layout import SPM_MODEL
from schemas.manifest import fingerprint_of


@dataclasses.dataclass(frozen=True, kw_only=True)
class DatasetPlan:
    """What decides every byte of a data set, the tools apart.

    Attributes:
        config: The settings as resolved.
        inputs: What was read, by content.
        vocabulary: Name, hash and size of the SentencePiece model.
    """

    config: ResolvedDataConfig
    inputs: tuple[dict[str, Any], ...]
    vocabulary: dict[str, Any]

    def fingerprint(self) -> str:
        """Hash of the plan and of the tools that carry it out."""
        return fingerprint_of(
            dataclasses.asdict(self)
            | {"config": recorded(self.config), "versions": tool_versions()}
        )


def plan_dataset(
    config: ResolvedDataConfig,
    files: list[InputFile],
    *,
    vocab_sha256: str,
    vocab_size: int,
) -> DatasetPlan:
    """The plan for some inputs, in whatever order they were given."""
    inputs = sorted(
        (file.describe() for file in files),
        key=lambda d: (d["kind"], d["sha256"], d["name"]),
    )
    return DatasetPlan(
        config=config,
        inputs=tuple(inputs),
        vocabulary={"file": SPM_MODEL, "sha256": vocab_sha256, "size": vocab_size},
    )


def tool_versions() -> dict[str, str]:
    """Versions of the tools on which the bytes depend."""
    return {
        "albert": __version__,
        "sentencepiece": version("sentencepiece"),
        "sentencex": version("sentencex"),
        "unicode": unicodedata.unidata_version,
    }
