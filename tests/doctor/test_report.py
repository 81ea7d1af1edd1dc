"""The format of results, and that they contain no secrets."""

from chatapp.checks.results import CheckResult, Status, failed, ok, warning
from chatapp.doctor.report import clock_result, lines, reason, redact_url, summary

LONG = "a sentence that goes on " * 8


def test_a_finding_fits_a_terminal_of_80_columns() -> None:
    report_lines = lines(failed("Client address", LONG, LONG), 80)
    assert max(map(len, report_lines)) <= 80
    assert report_lines[0].startswith("  failed   Client address   a sentence that")
    assert all(line.startswith(" " * 28) for line in report_lines[1:])
    assert [line.strip()[:3] for line in report_lines].count("→ a") == 1


def test_a_passed_check_takes_one_line() -> None:
    assert lines(ok("Debug pages", "off")) == ["  ok       Debug pages      off"]


def test_a_quotation_follows_what_was_found() -> None:
    report_lines = lines(failed("Fake", "It rejects the key", "Set the right one.", "401 no"))
    assert report_lines[0] == "  failed   Fake             It rejects the key: 401 no"
    assert report_lines[1].strip() == "→ Set the right one."


def test_verdicts_are_counted() -> None:
    results = [ok("a", ""), ok("b", ""), warning("c", "", ""), failed("d", "", "")]
    assert summary(results) == "1 failed, 1 warning, 2 ok."
    assert summary([CheckResult("a", Status.SKIPPED, "")]) == "1 skipped."


def test_urls_are_shown_without_their_passwords() -> None:
    assert redact_url("redis://user:pass@host:6379/0?password=x") == "redis://host:6379/0"
    assert redact_url("unix:///run/redis.sock") == "unix:///run/redis.sock"


def test_the_reason_of_an_error_is_its_first_line_without_secrets() -> None:
    assert reason(ValueError("\n no: hunter22\x1b[2J\nmore"), "hunter22") == "no: ***\ufffd[2J"
    assert reason(TimeoutError()) == "TimeoutError"


def test_a_wrong_clock_is_warned_of() -> None:
    assert clock_result("Clock", 1.9, 2).status is Status.OK
    behind = clock_result("Clock", -61, 2)
    assert (behind.status, behind.finding[:11]) == (Status.WARNING, "61 s behind")
