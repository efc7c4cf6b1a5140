"""The output of a job on a cluster's storage: recognised, continued or refused.

Such storage has no locks and needs none: files appear whole, and two jobs of the same
settings write the same bytes.
"""

from typing import Any

from cli.support.footprints import Footprint, Identity
from cli.support.output_folder import check_identity, run_record
from pipeline.storage.files import (
    exists,
    find_below,
    join,
    read_whole,
    remove,
    write_whole,
)
from schemas.errors import SettingError
from schemas.files import json_text, parse_json
from schemas.layout import CONFIG


def claim(
    folder: str,
    footprint: Footprint,
    *,
    settings: dict[str, Any],
    identity: Identity,
    overwrite: bool,
) -> bool:
    """Take a folder for writing; returns whether the command has finished there before.

    The arguments are those of `cli.support.output_folder.claim`.

    Raises:
        SettingError: The folder holds something else, or a run with other settings.
        AlbertError: The storage cannot be reached.
    """
    config = join(folder, CONFIG)
    record = parse_json(read_whole(config), config) if exists(config) else {}
    if record.get("command") != footprint.command and find_below(folder, "**"):
        raise SettingError(
            f"--output: {folder} holds other files; give a new or empty folder."
        )
    if overwrite:
        for name in footprint.removable:
            remove(join(folder, name))
    if any(find_below(folder, pattern) for pattern in footprint.progress):
        check_identity(folder, footprint, record, identity=identity)
        if footprint.is_finished(folder, identity):
            return True
    record = run_record(footprint, settings | {"identity": identity})
    write_whole(config, json_text(record))
    return False
