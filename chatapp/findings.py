"""A finding: one thing that was looked at, what was found, and what to do about it.

The doctor, which looks at this installation, and the check, which looks at an upstream, say all
they have to say in findings; how one reads in a terminal or on a page is for whoever shows it.
What somebody else said stands apart, in `said`, so that nobody has to take a sentence to pieces.

Texts are not escaped. What comes from outside goes through `printable` before a terminal gets it.
"""

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    OK = "ok"
    NOTE = "note"  # worth knowing; the app copes
    WARNING = "warning"  # works, but not as well or as safely as it could
    FAILED = "failed"
    SKIPPED = "skipped"  # could not be looked at, or was not asked for


@dataclass(frozen=True, slots=True)
class Finding:
    """`found` is a clause without its full stop, `cure` are sentences: what to set or run."""

    what: str
    verdict: Verdict
    found: str
    cure: str = ""
    said: str = ""  # by what was looked at, in its own words


def ok(what: str, found: str, cure: str = "") -> Finding:
    return Finding(what, Verdict.OK, found, cure)


def note(what: str, found: str, cure: str) -> Finding:
    return Finding(what, Verdict.NOTE, found, cure)


def warning(what: str, found: str, cure: str) -> Finding:
    return Finding(what, Verdict.WARNING, found, cure)


def failed(what: str, found: str, cure: str, said: str = "") -> Finding:
    return Finding(what, Verdict.FAILED, found, cure, said)


def skipped(what: str, found: str, cure: str = "") -> Finding:
    return Finding(what, Verdict.SKIPPED, found, cure)


def printable(text: str) -> str:
    """The text without what a terminal would obey."""
    return "".join(one if one.isprintable() else "\ufffd" for one in text)
