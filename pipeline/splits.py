"""The work of reading, divided into splits that do not depend on the workers."""

from typing import NamedTuple

from pipeline.inputs import InputFile

# Small files are read together up to this much text.
SPLIT_BYTES = 16 << 20


class Split(NamedTuple):
    """Files that one worker reads, one after the other."""

    number: int
    files: tuple[InputFile, ...]

    @property
    def text_bytes(self) -> int:
        """Estimated size of the text to read."""
        return sum(file.text_bytes for file in self.files)


def plan_splits(
    files: list[InputFile], *, split_bytes: int = SPLIT_BYTES
) -> list[Split]:
    """Group files into splits, the largest first so that workers end together."""
    groups: list[list[InputFile]] = []
    room = 0
    for file in sorted(files, key=lambda file: -file.text_bytes):
        if file.text_bytes > room:
            groups.append([])
            room = split_bytes
        groups[-1].append(file)
        room -= file.text_bytes
    return [Split(number, tuple(group)) for number, group in enumerate(groups)]
