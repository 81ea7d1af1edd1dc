"""Seconds are compared with their record as on one machine."""

from pathlib import Path

import pytest

from tests.support import timings

TESTS = Path(__file__).parents[1]
ASKED_FOR_BY_NAME = {"deployment", "engines", "upgrades"}


def report(nodeid: str, kind: str, seconds: float) -> pytest.TestReport:
    return pytest.TestReport(
        nodeid=nodeid,
        location=(nodeid, 0, ""),
        keywords={},
        outcome="passed",
        longrepr=None,
        when="call",
        duration=seconds,
        user_properties=[("kind", kind)],
    )


REPORTS = [
    report("tests/chat/test_a.py::test_a", "pure", 4.0),
    report("tests/chat/test_b.py::test_b", "server", 16.0),
    report("tests/test_c.py::test_c", "pure", 2.0),
]


def test_a_machine_half_as_fast_is_given_twice_the_time() -> None:
    assert timings.build_record(REPORTS, loop=2 * timings.REFERENCE_LOOP) == {
        "folder": {"chat": 10.0, ".": 1.0},
        "kind": {"pure": 3.0, "server": 8.0},
    }


def test_what_took_longer_than_its_record_allows_is_named() -> None:
    taken = {"folder": {"chat": 20.0, "new": 4.0, "small": 2.9}, "kind": {"pure": 10.0}}
    recorded = {"folder": {"chat": 15.9}, "kind": {"pure": 9.0}}
    assert list(timings.excesses(taken, recorded)) == [
        "folder chat: 20 s, recorded 16, at most 20",
        "folder new: 4 s, recorded 0, at most 3",
    ]


def test_every_folder_has_a_record() -> None:
    """A new folder gets one by `make test PYTEST_ADDOPTS=--record-seconds`."""
    folders = {path.relative_to(TESTS).parts[0] for path in TESTS.glob("*/**/test_*.py")}
    assert set(timings.load_record()["folder"]) - {"."} == folders - ASKED_FOR_BY_NAME
