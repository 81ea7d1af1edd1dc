"""Results are values, and cleaning them removes secrets and control characters."""

from chatapp.checks.results import CheckResult, Status, clean, failed, note, ok, skipped, warning


def test_each_status_has_a_constructor() -> None:
    assert ok("a", "b") == CheckResult("a", Status.OK, "b")
    assert note("a", "b", "c") == CheckResult("a", Status.NOTE, "b", "c")
    assert warning("a", "b", "c") == CheckResult("a", Status.WARNING, "b", "c")
    assert failed("a", "b", "c", "d", "e") == CheckResult("a", Status.FAILED, "b", "c", "d", "e")
    assert skipped("a", "b") == CheckResult("a", Status.SKIPPED, "b")
    assert failed("a", "b", "c").has_failed
    assert not warning("a", "b", "c").has_failed


def test_a_result_is_told_in_sentences() -> None:
    refused = failed("Upstream", "It rejects the key", "Set the right one.", "401 no.")
    assert refused.sentences == "It rejects the key: 401 no. Set the right one."
    silent = failed("Upstream", "It says nothing", "Try another model.")
    assert silent.sentences == "It says nothing. Try another model."
    assert skipped("a", "not asked").sentences == "not asked."


def test_secrets_and_control_characters_are_removed_from_every_text() -> None:
    hostile = failed("sk-secret", "It said sk-secret", "Ask \x1b[2J.", "sk-secret\u202e", "cause")
    assert hostile.clean("sk-secret") == failed(
        "***", "It said ***", "Ask \ufffd[2J.", "***\ufffd", "cause"
    )


def test_a_long_text_is_cut_and_has_no_part_of_a_secret() -> None:
    text = clean("x" * 495 + "sk-a-secret-key" + "y" * 20, "sk-a-secret-key")
    assert (len(text), text[-5:]) == (500, "***y…")
