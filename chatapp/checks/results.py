"""Results of checks: what was checked, what was found, and what to do about it.

The doctor, which checks this installation, and the check of an upstream report everything as
results; the caller formats them for a terminal or a page. Quoted text of others is kept apart, in
`quote`, so that no caller has to parse a sentence.

Texts are not escaped. Pass text from outside through `printable` before writing it to a terminal.
"""

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    OK = "ok"
    NOTE = "note"  # worth knowing; the app copes
    WARNING = "warning"  # works, but not as well or as safely as it should
    FAILED = "failed"
    SKIPPED = "skipped"  # could not be checked, or was not requested


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One result: `finding` is a clause without full stop, `remedy` is sentences on what to do."""

    what: str
    status: Status
    finding: str
    remedy: str = ""
    quote: str = ""  # the exact words of what was checked


def ok(what: str, finding: str, remedy: str = "") -> CheckResult:
    return CheckResult(what, Status.OK, finding, remedy)


def note(what: str, finding: str, remedy: str) -> CheckResult:
    return CheckResult(what, Status.NOTE, finding, remedy)


def warning(what: str, finding: str, remedy: str) -> CheckResult:
    return CheckResult(what, Status.WARNING, finding, remedy)


def failed(what: str, finding: str, remedy: str, quote: str = "") -> CheckResult:
    return CheckResult(what, Status.FAILED, finding, remedy, quote)


def skipped(what: str, finding: str, remedy: str = "") -> CheckResult:
    return CheckResult(what, Status.SKIPPED, finding, remedy)


def printable(text: str) -> str:
    """Replace unprintable characters, such as a terminal's control sequences."""
    return "".join(character if character.isprintable() else "\ufffd" for character in text)
