"""Seconds and test counts by folder and by kind, printed after each run."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import pytest


@dataclass
class Timing:
    tests: int = 0
    seconds: float = 0.0


def by_kind(reports: Iterable[pytest.TestReport]) -> dict[str, Timing]:
    """Sum up the time of each kind, including set-up and tear-down."""
    return _grouped((str(dict(report.user_properties)["kind"]), report) for report in reports)


def by_folder(reports: Iterable[pytest.TestReport]) -> dict[str, Timing]:
    """Sum up the time of each folder of `tests/`; files outside any folder count as "."."""
    return _grouped((_folder(report.nodeid), report) for report in reports)


def lines(title: str, timings: dict[str, Timing]) -> list[str]:
    """Return a table, slowest first."""
    rows = sorted(timings.items(), key=lambda row: -row[1].seconds)
    total = Timing(sum(t.tests for _, t in rows), sum(t.seconds for _, t in rows))
    head = f"{title:<12} {'tests':>6} {'seconds':>8}"
    return [head] + [f"{n:<12} {t.tests:>6} {t.seconds:>8.1f}" for n, t in [*rows, ("all", total)]]


def _grouped(named: Iterable[tuple[str, pytest.TestReport]]) -> dict[str, Timing]:
    timings: dict[str, Timing] = defaultdict(Timing)
    for name, report in named:
        timings[name].seconds += report.duration
        timings[name].tests += report.when == "call"
    return timings


def _folder(nodeid: str) -> str:
    parts = nodeid.partition("::")[0].split("/")
    return parts[1] if len(parts) > 2 else "."
