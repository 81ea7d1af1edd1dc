"""Findings are values, and printing them is safe for a terminal."""

from chatapp.checks.results import (
    CheckResult,
    Status,
    failed,
    note,
    ok,
    printable,
    skipped,
    warning,
)


def test_each_verdict_has_a_constructor() -> None:
    assert ok("a", "b") == CheckResult("a", Status.OK, "b")
    assert note("a", "b", "c") == CheckResult("a", Status.NOTE, "b", "c")
    assert warning("a", "b", "c") == CheckResult("a", Status.WARNING, "b", "c")
    assert failed("a", "b", "c", "d") == CheckResult("a", Status.FAILED, "b", "c", "d")
    assert skipped("a", "b") == CheckResult("a", Status.SKIPPED, "b")


def test_control_characters_are_replaced() -> None:
    assert printable("a\x1b[2J\u202eb") == "a\ufffd[2J\ufffdb"
