"""Refuses commit subjects that are not short imperatives: "Add attachments to the composer".

`python -m tests.support.commit_subjects` judges the commits since the one that added this file. In
a shallow clone these are the commits it has, and without git there are none.
"""

import re
import subprocess
import sys
from pathlib import Path

MAX_LENGTH = 72
# Imperatives that look like another form.
IMPERATIVES = frozenset(
    [
        "Access",
        "Address",
        "Alias",
        "Assess",
        "Bring",
        "Bypass",
        "Compress",
        "Cross",
        "Discuss",
        "Dismiss",
        "Embed",
        "Exceed",
        "Express",
        "Feed",
        "Focus",
        "Guess",
        "Miss",
        "Need",
        "Pass",
        "Press",
        "Process",
        "Proceed",
        "Seed",
        "Speed",
        "Spring",
        "String",
        "Stress",
        "Succeed",
        "Suppress",
    ]
)


def problem_with(subject: str) -> str:
    """Return what is wrong with a subject, or ""."""
    if len(subject) > MAX_LENGTH:
        return f"has {len(subject)} characters; at most {MAX_LENGTH} are allowed"
    if subject.endswith("."):
        return "ends with a full stop"
    first = subject.partition(" ")[0]
    if not re.fullmatch(r"[A-Z][a-z]+", first):
        return "does not begin with a capitalised verb"
    if first not in IMPERATIVES and re.search(r"(ed|ing|s)$", first):
        return f"begins with {first}, which is not an imperative"
    return ""


def new_subjects() -> list[str]:
    """Return the subjects of the commits since the one that added this file, except merges."""
    added = _git("log", "--diff-filter=A", "--format=%H", "--", str(Path(__file__)))
    return _git("log", "--no-merges", "--format=%s", f"{added[-1]}..HEAD") if added else []


def _git(*arguments: str) -> list[str]:
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return []
    return done.stdout.splitlines() if done.returncode == 0 else []


def main() -> None:
    wrong = [
        (new_subject, problem)
        for new_subject in new_subjects()
        if (problem := problem_with(new_subject))
    ]
    for subject, problem in wrong:
        print(f"The commit subject {subject!r} {problem}.")
    if wrong:
        sys.exit("Reword these commits. See CONTRIBUTING.md.")


if __name__ == "__main__":
    main()
