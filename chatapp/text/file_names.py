"""The names of uploaded files: what is shown of them, and what they are saved as."""

from pathlib import PurePosixPath

from chatapp.text.invisible import in_one_line

MAX_LENGTH = 120  # characters
UNNAMED = "Unnamed file"


def clean_file_name(name: str) -> str:
    """Return a name without folders and invisible characters, shortened in the middle.

    The result is for display only; no file on the server is ever called by it.
    """
    base = name[-10_000:].replace("\\", "/").rstrip("/").rpartition("/")[2]
    short = _shorten_name(in_one_line(base))
    return short if any(map(str.isalnum, short)) else UNNAMED


def _shorten_name(name: str) -> str:
    if len(name) <= MAX_LENGTH:
        return name
    suffix = PurePosixPath(name).suffix[:12]
    return f"{name[: MAX_LENGTH - len(suffix) - 1]}…{suffix}"
