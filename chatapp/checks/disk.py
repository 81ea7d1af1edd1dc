"""Finds out why a folder can't be written, by writing a file there, and says what to do about it.

It imports neither Django nor the settings, because the settings import it.
"""

import errno
import os
import tempfile
from pathlib import Path
from typing import NamedTuple

_PROBE_BYTES = 64 * 1024  # bytes, too many for a full disk


class DiskProblem(NamedTuple):
    """A problem with a folder and its remedy, as text for the operator."""

    finding: str
    remedy: str


def find_folder_problem(folder: Path) -> DiskProblem | None:
    """Return why the app can't write there, or None if it can."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"\0" * _PROBE_BYTES)
    except OSError as error:
        return explain_error(error, folder)
    return None


def explain_error(error: OSError, folder: Path) -> DiskProblem:
    """Explain an error raised by writing to the folder or by creating it."""
    in_the_way = next((path for path in (folder, *folder.parents) if path.is_file()), None)
    if in_the_way:
        return DiskProblem(
            f"{in_the_way} is a file, not a directory",
            "Set DATA_DIR to a directory, or move the file away.",
        )
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return DiskProblem(
                f"the disk of {folder} is full",
                "Free some space, or move DATA_DIR to a larger disk.",
            )
        case errno.EROFS:
            return DiskProblem(
                f"{folder} is on a disk that is mounted read-only",
                "Mount it read-write, or set DATA_DIR to a directory elsewhere.",
            )
        case errno.EACCES | errno.EPERM:
            return DiskProblem(
                f"{folder} can't be written by user {os.geteuid()}",
                f"Make the app's user its owner (chown {os.geteuid()} {folder}), or set DATA_DIR "
                "to another directory.",
            )
        case errno.ENOENT:
            return DiskProblem(
                f"{folder} does not exist and can't be created",
                "Create it with the app's user as its owner, or set DATA_DIR to another directory.",
            )
    return DiskProblem(
        f"{folder} can't be written: {error.strerror}",
        "Check that disk, or set DATA_DIR to a directory elsewhere.",
    )
