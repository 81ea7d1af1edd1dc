"""Seconds and test counts by folder and by kind, printed after each run, and held under a record.

The record, `seconds.json`, has the seconds of a whole run on a machine whose loop of Python takes
`REFERENCE_LOOP` seconds. Seconds are compared after division by this machine's loop.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

RECORD = Path(__file__).with_name("seconds.json")
REFERENCE_LOOP = 0.2  # s, of bench.machine.loop_seconds
TOLERATED = 1.25  # times the record, as the same run varies by a fifth
TOLERATED_SECONDS = 3.0  # for what takes next to no time

Record = dict[str, dict[str, float]]  # seconds by name, by "folder" or "kind"


@dataclass
class Timing:
    tests: int = 0
    seconds: float = 0.0


def by_kind(reports: Iterable[pytest.TestReport]) -> dict[str, Timing]:
    """Sum up the time of each kind, including set-up and tear-down."""
    return _group_times((str(dict(report.user_properties)["kind"]), report) for report in reports)


def by_folder(reports: Iterable[pytest.TestReport]) -> dict[str, Timing]:
    """Sum up the time of each folder of `tests/`; files outside any folder count as "."."""
    return _group_times((_folder(report.nodeid), report) for report in reports)


def lines(title: str, timings: dict[str, Timing]) -> list[str]:
    """Return a table, slowest first."""
    rows = sorted(timings.items(), key=lambda row: -row[1].seconds)
    total = Timing(sum(t.tests for _, t in rows), sum(t.seconds for _, t in rows))
    head = f"{title:<12} {'tests':>6} {'seconds':>8}"
    return [head] + [f"{n:<12} {t.tests:>6} {t.seconds:>8.1f}" for n, t in [*rows, ("all", total)]]


def build_record(reports: Iterable[pytest.TestReport], loop: float) -> Record:
    """Return the seconds as they would be on the machine of the record."""
    reports = list(reports)
    return {
        title: {name: round(t.seconds * REFERENCE_LOOP / loop, 1) for name, t in timings.items()}
        for title, timings in (("folder", by_folder(reports)), ("kind", by_kind(reports)))
    }


def excesses(taken: Record, recorded: Record) -> Iterator[str]:
    """Yield a sentence for each folder and kind that took longer than its record allows."""
    for title, names in taken.items():
        for name, seconds in sorted(names.items()):
            before = recorded.get(title, {}).get(name, 0.0)
            ceiling = max(before * TOLERATED, before + TOLERATED_SECONDS)
            if seconds > ceiling:
                bounds = f"recorded {before:.0f}, at most {ceiling:.0f}"
                yield f"{title} {name}: {seconds:.0f} s, {bounds}"


def load_record() -> Record:
    record: Record = json.loads(RECORD.read_text())
    return record


def write_record(record: Record) -> None:
    in_order = {title: dict(sorted(names.items())) for title, names in record.items()}
    RECORD.write_text(f"{json.dumps(in_order, indent=1)}\n")


def _group_times(named: Iterable[tuple[str, pytest.TestReport]]) -> dict[str, Timing]:
    timings: dict[str, Timing] = defaultdict(Timing)
    for name, report in named:
        timings[name].seconds += report.duration
        timings[name].tests += report.when == "call"
    return timings


def _folder(nodeid: str) -> str:
    parts = nodeid.partition("::")[0].split("/")
    return parts[1] if len(parts) > 2 else "."
