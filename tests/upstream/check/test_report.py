"""A report as a table, and as sentences."""

from chatapp.checks.results import CheckResult, Status, failed, note, ok, warning
from chatapp.upstream.check.report import Report, sentences, visible_result

REPORT = Report(
    (
        ok("Models", "2: one, two"),
        note("Usage", "never", "The app estimates it."),
        warning("Stream", "one JSON answer, no stream", "Check whether it can stream."),
        CheckResult("Wrong key", Status.FAILED, "no list"),
    )
)


def test_a_table_has_a_word_for_each_verdict() -> None:
    assert [row[2] for row in REPORT.table] == ["good", "note", "problem", "problem"]
    *_, usage, stream, key = REPORT.as_text(100).splitlines()
    expected = "Usage never note: The app estimates it."
    assert " ".join(usage.split()) == expected
    assert stream.split()[:2] == ["Stream", "one"]
    assert key.split() == ["Wrong", "key", "no", "list", "problem"]


def test_a_table_fits_its_width() -> None:
    long = Report((ok("Models", "a sentence that goes on " * 20),))
    assert max(map(len, long.as_text(80).splitlines())) <= 80
    assert max(map(len, long.as_text(10).splitlines())) <= 60


def test_problems_are_joined_as_sentences() -> None:
    refused = failed("Upstream", "It rejects the key", "Set the right one.", "401 no")
    silent = failed("Upstream", "It says nothing", "Try another model.")
    assert sentences(refused) == "It rejects the key. Set the right one. It said: 401 no"
    assert Report((), (refused, silent)).why_not == (
        "It rejects the key. Set the right one. It said: 401 no It says nothing. Try another model."
    )
    assert not Report((), (silent,)).can_serve
    assert REPORT.can_serve


def test_the_key_and_control_characters_are_removed() -> None:
    hostile = failed("Upstream", "It said sk-secret", "Ask \x1b[2J.", "sk-secret\u202e")
    visible = visible_result(hostile, "sk-secret")
    assert "sk-secret" not in str(visible)
    assert (visible.remedy, visible.quote[-1]) == ("Ask \ufffd[2J.", "\ufffd")
