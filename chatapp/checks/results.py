"""Results of checks: what was checked, what was found, and what to do about it.

A check is a generator, synchronous or not, that yields each `CheckStep` as soon as it is known: a
heading, or a result below it. Commands show the steps with a `TerminalReport`, pages with a
template. Quoted text of others is kept apart, in `quote`: no caller has to parse a sentence.

Texts are not escaped. `CheckResult.clean` makes those from outside safe for a terminal.
"""

from dataclasses import dataclass
from enum import StrEnum

_MAX_LENGTH = 500


class Status(StrEnum):
    FAILED = "failed"
    WARNING = "warning"  # works, but not as well or as safely as it should
    NOTE = "note"  # worth knowing; the app copes
    OK = "ok"
    SKIPPED = "skipped"  # could not be checked, or was not requested


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading for the results that follow, yielded before they are looked for."""

    text: str


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One result: `finding` is a clause without full stop, `remedy` is sentences on what to do."""

    what: str
    status: Status
    finding: str
    remedy: str = ""
    quote: str = ""  # the exact words of what was checked
    cause: str = ""  # a code of the failure, for callers; not shown

    @property
    def has_failed(self) -> bool:
        return self.status is Status.FAILED

    @property
    def evidence(self) -> str:
        """What was found, with the quote: `It rejects the key: 401 wrong key`."""
        return f"{self.finding}: {self.quote}" if self.quote else self.finding

    @property
    def sentences(self) -> str:
        """The evidence and the remedy as sentences."""
        stop = "" if self.evidence.endswith((".", "!", "?")) else "."
        return f"{self.evidence}{stop} {self.remedy}".rstrip()

    def clean(self, *secrets: str) -> "CheckResult":
        """Return the result with each text cleaned as by `clean`."""
        texts = (self.what, self.finding, self.remedy, self.quote)
        what, finding, remedy, quote = (clean(text, *secrets) for text in texts)
        return CheckResult(what, self.status, finding, remedy, quote, self.cause)


CheckStep = Heading | CheckResult


def ok(what: str, finding: str, remedy: str = "") -> CheckResult:
    return CheckResult(what, Status.OK, finding, remedy)


def note(what: str, finding: str, remedy: str) -> CheckResult:
    return CheckResult(what, Status.NOTE, finding, remedy)


def warning(what: str, finding: str, remedy: str) -> CheckResult:
    return CheckResult(what, Status.WARNING, finding, remedy)


def failed(what: str, finding: str, remedy: str, quote: str = "", cause: str = "") -> CheckResult:
    return CheckResult(what, Status.FAILED, finding, remedy, quote, cause)


def skipped(what: str, finding: str, remedy: str = "") -> CheckResult:
    return CheckResult(what, Status.SKIPPED, finding, remedy)


def clean(text: str, *secrets: str) -> str:
    """Make a text from outside fit for a report: short, without the secrets.

    Unprintable characters, such as a terminal's control sequences, are replaced.
    """
    for secret in filter(None, secrets):
        text = text.replace(secret, "***")
    text = "".join(character if character.isprintable() else "\ufffd" for character in text)
    return text if len(text) <= _MAX_LENGTH else f"{text[: _MAX_LENGTH - 1]}…"
