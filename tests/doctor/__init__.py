"""Helpers that run checks and look up their findings."""

from collections.abc import Callable, Iterable

from chatapp.checks.results import CheckResult, Status
from chatapp.doctor.public import Public
from tests.doctor.relay import Relay


def verdicts(findings: Iterable[CheckResult]) -> dict[str, Status]:
    return {finding.what: finding.verdict for finding in findings}


def only(findings: Iterable[CheckResult]) -> CheckResult:
    """Return the only finding of a check; a warning or failure must have a cure."""
    (finding,) = findings
    if finding.verdict in (Status.WARNING, Status.FAILED):
        assert finding.cure.endswith((".", ")."))
    return finding


def through(relay: Relay, check: Callable[[Public], Iterable[CheckResult]]) -> CheckResult:
    with relay, Public(relay.url) as outside:
        return only(check(outside))
