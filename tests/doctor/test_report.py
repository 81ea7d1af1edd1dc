"""How findings read, and that they hold no secret."""

from chatapp.doctor.report import (
    Finding,
    Verdict,
    clock_finding,
    failed,
    ok,
    reason,
    shown_url,
    summary,
    warning,
)

LONG = "a sentence that goes on " * 8


def test_a_finding_fits_a_terminal_of_80_columns() -> None:
    lines = failed("Client address", LONG, LONG).lines(80)
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("  failed   Client address   a sentence that")
    assert all(line.startswith(" " * 28) for line in lines[1:])
    assert [line.strip()[:3] for line in lines].count("→ a") == 1


def test_what_is_right_takes_one_line() -> None:
    assert ok("Debug pages", "off").lines() == ["  ok       Debug pages      off"]


def test_verdicts_are_counted() -> None:
    findings = [ok("a", ""), ok("b", ""), warning("c", "", ""), failed("d", "", "")]
    assert summary(findings) == "1 failed, 1 warning, 2 ok."
    assert summary([Finding("a", Verdict.SKIPPED, "")]) == "1 skipped."


def test_urls_are_shown_without_their_passwords() -> None:
    assert shown_url("redis://user:pass@host:6379/0?password=x") == "redis://host:6379/0"
    assert shown_url("unix:///run/redis.sock") == "unix:///run/redis.sock"


def test_an_errors_reason_is_its_first_line_without_secrets() -> None:
    assert reason(ValueError("\n no: hunter22\x1b[2J\nmore"), "hunter22") == "no: ***\ufffd[2J"
    assert reason(TimeoutError()) == "TimeoutError"


def test_a_clock_that_differs_is_told() -> None:
    assert clock_finding("Clock", 1.9, 2).verdict is Verdict.OK
    behind = clock_finding("Clock", -61, 2)
    assert (behind.verdict, behind.found[:11]) == (Verdict.WARNING, "61 s behind")
