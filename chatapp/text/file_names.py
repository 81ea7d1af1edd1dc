"""The names of uploaded files: what is shown of them, and what they are saved as."""

import unicodedata
from pathlib import PurePosixPath

MAX_LENGTH = 120  # characters
UNNAMED = "Unnamed file"
# Categories of characters that reorder or hide text, or that no font shows.
_REMOVED = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_JOINERS = "\u200c\u200d"  # Persian and emoji need them


def clean_file_name(name: str) -> str:
    """Return a name without folders and invisible characters, shortened in the middle.

    The result is for display only; no file on the server is ever called by it.
    """
    base = name[-10_000:].replace("\\", "/").rstrip("/").rpartition("/")[2]
    visible = "".join(filter(_is_kept, base))
    short = _shortened(" ".join(visible.split()))
    return short if any(map(str.isalnum, short)) else UNNAMED


def _is_kept(character: str) -> bool:
    return character in _JOINERS or unicodedata.category(character) not in _REMOVED


def _shortened(name: str) -> str:
    if len(name) <= MAX_LENGTH:
        return name
    suffix = PurePosixPath(name).suffix[:12]
    return f"{name[: MAX_LENGTH - len(suffix) - 1]}…{suffix}"
