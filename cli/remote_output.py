"""The output of a job on a cluster's storage: recognised, continued or refused.

There is no lock there and none is needed: files are put in place whole, and two jobs of
the same settings write the same bytes.
"""

from typing import Any

from cli.output_folder import Footprint, check_identity, run_record
from pipeline.files import exists, find_below, join, read_json, remove, write_json
from schemas.errors import SettingError
from schemas.layout import CONFIG, MANIFEST


def claim(
    folder: str,
    footprint: Footprint,
    *,
    settings: dict[str, Any],
    identity: dict[str, Any],
    overwrite: bool,
) -> bool:
    """Take a folder for writing; returns whether the command has finished there before.

    The arguments are those of `cli.output_folder.claim`.

    Raises:
        SettingError: The folder holds something else, or a run with other settings.
        AlbertError: The storage cannot be reached.
    """
    config = join(folder, CONFIG)
    record = read_json(config) if exists(config) else {}
    if record.get("command") != footprint.command and find_below(folder, "**"):
        raise SettingError(
            f"--output: {folder} holds other files; give a new or empty folder."
        )
    if overwrite:
        for name in footprint.writes:
            remove(join(folder, name))
    if any(find_below(folder, pattern) for pattern in footprint.progress):
        check_identity(folder, footprint, record, identity=identity)
        if exists(join(folder, MANIFEST)):
            return True
    write_json(config, run_record(footprint, settings | {"identity": identity}))
    return False
