"""The commit subjects that `make check` accepts."""

import pytest

from tests.support.commit_subjects import new_subjects, problem_with


@pytest.mark.parametrize(
    "subject",
    [
        "Add attachments to the composer",
        "Pass the reply's ending to the page",
        "Speed up inserts of mostly default rows",
        "A" + "d" * 71,
    ],
)
def test_a_short_imperative_is_accepted(subject: str) -> None:
    assert problem_with(subject) == ""


@pytest.mark.parametrize(
    ("subject", "problem"),
    [
        ("A" + "d" * 72, "has 73 characters; at most 72 are allowed"),
        ("Add attachments.", "ends with a full stop"),
        ("add attachments", "does not begin with a capitalised verb"),
        ("fix: attachments", "does not begin with a capitalised verb"),
        ("", "does not begin with a capitalised verb"),
        ("Added attachments", "begins with Added, which is not an imperative"),
        ("Adding attachments", "begins with Adding, which is not an imperative"),
        ("Adds attachments", "begins with Adds, which is not an imperative"),
    ],
)
def test_other_subjects_are_refused(subject: str, problem: str) -> None:
    assert problem_with(subject) == problem


def test_without_git_there_are_no_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> None:
        raise FileNotFoundError("git")

    monkeypatch.setattr("subprocess.run", missing)
    assert new_subjects() == []
