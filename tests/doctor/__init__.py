"""Helpers that run checks and look up their results."""

from collections.abc import Callable, Iterable

from chatapp.checks.results import CheckResult, Status
from chatapp.doctor.public import Public
from tests.doctor.relay import Relay


def statuses(results: Iterable[CheckResult]) -> dict[str, Status]:
    return {result.what: result.status for result in results}


def only(results: Iterable[CheckResult]) -> CheckResult:
    """Return the only result of a check; a warning or failure must have a remedy."""
    (result,) = results
    if result.status in (Status.WARNING, Status.FAILED):
        assert result.remedy.endswith((".", ")."))
    return result


def through(relay: Relay, check: Callable[[Public], Iterable[CheckResult]]) -> CheckResult:
    with relay, Public(relay.url) as outside:
        return only(check(outside))
