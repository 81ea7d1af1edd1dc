"""The title in a model's answer: one short line of plain text, or nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatapp.realtime.titling.wording import MAX_LENGTH, build_messages, extract_title

ANSWERS = [
    ("Blue skies", "Blue skies"),
    ("  Blue \t skies \n", "Blue skies"),
    ('"Blue skies"', "Blue skies"),
    ("“Blue skies.”", "Blue skies"),
    ("「空が青い理由」", "空が青い理由"),
    ("« Le ciel bleu »", "Le ciel bleu"),
    ("„Blauer Himmel“.", "Blauer Himmel"),
    ("**Blue skies**", "Blue skies"),
    ("# Blue skies", "Blue skies"),
    ("## **Title: Blue skies**", "Blue skies"),
    ("Titel: „Blauer Himmel“", "Blauer Himmel"),
    ("제목: 푸른 하늘", "푸른 하늘"),
    ("*`Blue skies`*", "Blue skies"),
    ("- Blue skies", "Blue skies"),
    ("\n\n---\n\nBlue skies\n\nIt is about skies.", "Blue skies"),
    ("什么是天空。", "什么是天空"),
    ("What is C#", "What is C#"),
    ("Why blue?", "Why blue?"),
    ("The “blue” sky", "The “blue” sky"),
    ("<b>Blue</b> skies", "<b>Blue</b> skies"),
    ("Blue\u202e\u200b\x07\x1b skies\ud800", "Blue skies"),
    ("می\u200cخواهم", "می\u200cخواهم"),  # noqa: RUF001 - Persian
    ("Die Ma\u0308rchen", "Die Märchen"),
    ("", ""),
    ('""', ""),
    (" \n \u200b \n***\n", ""),
]


@pytest.mark.parametrize(("answer", "title"), ANSWERS)
def test_the_title_is_found_in_an_answer(answer: str, title: str) -> None:
    assert extract_title(answer) == title


def test_a_long_title_is_truncated() -> None:
    assert extract_title("sky " * 100) == ("sky " * 100)[: MAX_LENGTH - 1].rstrip() + "…"


@given(st.text(st.characters(codec="utf-8") | st.sampled_from("\n\r\u2028\x85\"*_#`'. ")))
def test_any_answer_gives_at_most_one_short_line(answer: str) -> None:
    title = extract_title(answer)
    assert len(title) <= MAX_LENGTH
    assert len(title.splitlines()) <= 1
    assert all(character.isprintable() or character in "\u200c\u200d" for character in title)
    assert title == title.strip()


def test_only_the_beginnings_are_sent() -> None:
    [message] = build_messages("p" * 5000, "a" * 5000)
    assert 2000 < len(str(message["content"])) < 2500
