"""Findings are values, and printing them is safe for a terminal."""

from chatapp.checks.results import Finding, Verdict, failed, note, ok, printable, skipped, warning


def test_each_verdict_has_a_constructor() -> None:
    assert ok("a", "b") == Finding("a", Verdict.OK, "b")
    assert note("a", "b", "c") == Finding("a", Verdict.NOTE, "b", "c")
    assert warning("a", "b", "c") == Finding("a", Verdict.WARNING, "b", "c")
    assert failed("a", "b", "c", "d") == Finding("a", Verdict.FAILED, "b", "c", "d")
    assert skipped("a", "b") == Finding("a", Verdict.SKIPPED, "b")


def test_control_characters_are_replaced() -> None:
    assert printable("a\x1b[2J\u202eb") == "a\ufffd[2J\ufffdb"
