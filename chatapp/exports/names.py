"""Names of the files that an export consists of, safe to unpack on every system. Pure."""

import re
import unicodedata
from pathlib import PurePosixPath

MAX_BYTES = 120  # of a name, as UTF-8; file systems take 255, archives and folders add to it
UNNAMED = "Untitled"
# Characters that a system refuses in a file name, or that mean something in a path.
_REFUSED = re.compile(r'[<>:"|?*/\\]')
# Names that Windows gives to devices, with any suffix.
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?=\.|\Z)", re.IGNORECASE)
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def safe_name(name: str, unnamed: str = UNNAMED) -> str:
    """Return a name without folders, reserved characters and names, and invisible characters.

    A long name is shortened before its suffix.
    """
    composed = unicodedata.normalize("NFC", name[:1000])
    visible = "".join(
        character for character in composed if unicodedata.category(character) not in _INVISIBLE
    )
    plain = " ".join(_REFUSED.sub("_", visible).split())
    bare = plain.strip(". ")  # Windows drops dots at the end; at the beginning they hide a file
    if not any(map(str.isalnum, bare)):
        bare = unnamed
    return _shorten_name(_DEVICE.sub(r"_\g<0>", bare))


def _shorten_name(name: str) -> str:
    if len(name.encode()) <= MAX_BYTES:
        return name
    suffix = PurePosixPath(name).suffix
    suffix = suffix if len(suffix.encode()) <= 12 else ""
    stem = name.removesuffix(suffix).encode()[: MAX_BYTES - len(suffix.encode())]
    return stem.decode(errors="ignore").rstrip(". ") + suffix


class UniqueNames:
    """The names taken in a folder, which differ even for systems that ignore case."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._counts: dict[str, int] = {}

    def reserve(self, name: str) -> str:
        """Return the name, or another one with a number if it is taken."""
        free_name = name
        while free_name.casefold() in self._taken:
            self._counts[name] = number = self._counts.get(name, 1) + 1
            suffix = PurePosixPath(name).suffix
            free_name = f"{name.removesuffix(suffix)} ({number}){suffix}"
        self._taken.add(free_name.casefold())
        return free_name
