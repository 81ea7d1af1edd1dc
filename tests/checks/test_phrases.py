"""Phrases that contain no secrets, and the judgement of a clock."""

from chatapp.checks.phrases import clock_result, duration, reason, redact_url
from chatapp.checks.results import Status


def test_urls_are_shown_without_their_passwords() -> None:
    assert redact_url("redis://user:pass@host:6379/0?password=x") == "redis://host:6379/0"
    assert redact_url("unix:///run/redis.sock") == "unix:///run/redis.sock"


def test_the_reason_of_an_error_is_its_first_line_without_secrets() -> None:
    assert reason(ValueError("\n no: hunter22\x1b[2J\nmore"), "hunter22") == "no: ***\ufffd[2J"
    assert reason(TimeoutError()) == "TimeoutError"


def test_a_duration_has_the_precision_that_matters() -> None:
    assert [duration(0.0012), duration(0.25), duration(1.23)] == ["1.2 ms", "250 ms", "1.2 s"]


def test_a_wrong_clock_is_warned_of() -> None:
    assert clock_result("Clock", 1.9, 2).status is Status.OK
    behind = clock_result("Clock", -61, 2)
    assert (behind.status, behind.finding[:11]) == (Status.WARNING, "61 s behind")
