"""What keeps files from being written in a folder: found out by writing one, told with its cure.

It knows neither Django nor the settings, which need it themselves.
"""

import errno
import os
import tempfile
from pathlib import Path
from typing import NamedTuple

_ENOUGH = 64 * 1024  # bytes, which a full disk does not take


class Trouble(NamedTuple):
    """What is wrong, and what to do; each is text for whoever runs the app."""

    found: str
    cure: str


def trouble_of_folder(folder: Path) -> Trouble | None:
    """What keeps the app from writing there; None where nothing does."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"\0" * _ENOUGH)
    except OSError as error:
        return trouble_of_error(error, folder)
    return None


def trouble_of_error(error: OSError, folder: Path) -> Trouble:
    """What an error means that came of writing there, or of making the folder."""
    in_the_way = next((one for one in (folder, *folder.parents) if one.is_file()), None)
    if in_the_way:
        return Trouble(
            f"{in_the_way} is a file and no directory",
            "Set DATA_DIR to a directory, or move the file away.",
        )
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return Trouble(
                f"the disk of {folder} is full",
                "Make room there, or move DATA_DIR to a larger disk.",
            )
        case errno.EROFS:
            return Trouble(
                f"{folder} is on a disk that is mounted read-only",
                "Mount it for writing, or set DATA_DIR to a directory elsewhere.",
            )
        case errno.EACCES | errno.EPERM:
            return Trouble(
                f"{folder} can't be written by user {os.geteuid()}",
                f"Let the app's user own it (chown {os.geteuid()} {folder}), or set DATA_DIR to "
                "a directory of its own.",
            )
        case errno.ENOENT:
            return Trouble(
                f"{folder} is not there and can't be made",
                "Make it, for the app's user to own, or set DATA_DIR to another directory.",
            )
    return Trouble(
        f"{folder} can't be written: {error.strerror}",
        "See to that disk, or set DATA_DIR to a directory elsewhere.",
    )
