"""Helpers that run checks and look up their findings."""

from collections.abc import Callable, Iterable

from chatapp.checks.results import Finding, Verdict
from chatapp.doctor.public import Public
from tests.doctor.relay import Relay


def verdicts(findings: Iterable[Finding]) -> dict[str, Verdict]:
    return {finding.what: finding.verdict for finding in findings}


def only(findings: Iterable[Finding]) -> Finding:
    """Return the only finding of a check; a warning or failure must have a cure."""
    (finding,) = findings
    if finding.verdict in (Verdict.WARNING, Verdict.FAILED):
        assert finding.cure.endswith((".", ")."))
    return finding


def through(relay: Relay, check: Callable[[Public], Iterable[Finding]]) -> Finding:
    with relay, Public(relay.url) as outside:
        return only(check(outside))
