"""Format results for a terminal, and phrases that several checks share."""

import re
import textwrap
from collections import Counter
from collections.abc import Iterable

from chatapp.checks.results import CheckResult, Status, ok, printable, warning

_STATUS_WIDTH = 9
_NAME_WIDTH = 17
_MAX_FOUND = 400


def lines(result: CheckResult, width: int = 80) -> list[str]:
    """Format a result as lines: the status, the name, and beside them what was found."""
    margin = 2 + _STATUS_WIDTH + _NAME_WIDTH
    room = max(30, width - margin)
    finding = f"{result.finding}: {result.quote}" if result.quote else result.finding
    first, *other_lines = _wrap_text(finding, room) or [""]
    name = f"{result.what:<{_NAME_WIDTH - 1}} "
    head = f"  {result.status:<{_STATUS_WIDTH}}{name}{first}".rstrip()
    remedy = _wrap_text(result.remedy, room - 2)
    advice = [f"{'→ ' if at == 0 else '  '}{line}" for at, line in enumerate(remedy)]
    return [head, *(" " * margin + line for line in other_lines + advice)]


def summary(results: Iterable[CheckResult]) -> str:
    """Return the count of each status, such as `1 failed, 2 warnings, 14 ok.`"""
    count = Counter(result.status for result in results)
    parts = [
        f"{count[Status.FAILED]} failed",
        f"{count[Status.WARNING]} warning{'' if count[Status.WARNING] == 1 else 's'}",
        f"{count[Status.OK]} ok",
        f"{count[Status.SKIPPED]} skipped",
    ]
    return ", ".join(part for part in parts if not part.startswith("0 ")) + "."


def redact_url(url: str) -> str:
    """Return the URL without parts that may be secret: user, password, query."""
    return re.sub("//[^/]*@", "//", url.partition("?")[0].partition("#")[0])


def reason(error: BaseException, *secrets: str) -> str:
    """Return an error's first line, printable and with `secrets` masked."""
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    for secret in filter(None, secrets):
        text = text.replace(secret, "***")
    return printable(text)[:_MAX_FOUND] or type(error).__name__


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.{1 if seconds < 0.01 else 0}f} ms"


def clock_result(what: str, ahead: float, tolerance: float) -> CheckResult:
    """Return a result about a clock that is `ahead` seconds ahead of this machine's."""
    if abs(ahead) <= tolerance:
        return ok(what, f"differs by {abs(ahead):.1f} s")
    return warning(
        what,
        f"{abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} this machine's",
        "Synchronise both hosts with NTP, for example with systemd-timesyncd or chrony.",
    )


def _wrap_text(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=True)
