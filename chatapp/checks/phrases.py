"""Phrases that several checks share."""

import re

from chatapp.checks.results import CheckResult, clean, ok, warning


def redact_url(url: str) -> str:
    """Return the URL without parts that may be secret: user, password, query."""
    return re.sub("//[^/]*@", "//", url.partition("?")[0].partition("#")[0])


def reason(error: BaseException, *secrets: str) -> str:
    """Return an error's first line, printable and with `secrets` masked."""
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return clean(text, *secrets) or type(error).__name__


def duration(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.1f} s"
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
