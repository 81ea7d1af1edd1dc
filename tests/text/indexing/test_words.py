"""The index words of texts in several languages, and which queries match them."""

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chatapp.text.indexing import (
    Phrase,
    Term,
    entries,
    fold,
    name_marks,
    parse_quoted_phrase,
    pieces,
    terms,
)
from chatapp.text.indexing.words import MAX_LENGTH, PAIRS, WORDS_OF_A_PART
from tests.search.texts import FOUND, TEXTS


@pytest.mark.parametrize(
    ("text", "expected", "others"),
    [
        ("Hello, World!", "hello world", ""),
        ("getUserName", "get user name", "getusername username"),
        ("get_user_name", "get user name", "getusername username"),
        ("get-user.name", "get user name", "getusername username"),
        ("HTTPServer", "http server", "httpserver"),
        ("__init__", "init", ""),
        ("Straße", "strasse", ""),
        ("Übermut", "ubermut", "uebermut"),
        ("東京都", "東京 京都", "都"),
        ("東", "東", ""),
        ("서버를", "서버 버를", "를"),
        ("東京tower", "東京 tower", "京"),
        ("الكِتاب", "الكتاب", "كتاب"),
        ("٣٤", "34", ""),
        ("½ ²", "12 2", ""),
        ("ﬁn", "fin", ""),
        ("e\u0301t\u00e9", "ete", ""),
        ("\u0645\u06cc\u200c\u062e", "\u0645\u064a\u062e", ""),
        ("a\u00adb", "ab", ""),
        ("Bob's", "bob s", "bobs"),
        ("… — ! _ \u2019", "", ""),
        ("", "", ""),
    ],
)
def test_a_text_has_these_words(text: str, expected: str, others: str) -> None:
    text_pieces = list(pieces(text))
    assert " ".join(word for piece in text_pieces for word in piece.words) == expected
    assert " ".join(word for piece in text_pieces for word in piece.others) == others
    assert list(entries(text)) == [[*expected.split(), *others.split()]]


def has(entry: list[str], phrase: Phrase) -> bool:
    *before, last = phrase.words
    for start in range(len(entry) - len(before)):
        window = entry[start : start + len(phrase.words)]
        ends = window[-1].startswith(last) if phrase.is_prefix else window[-1] == last
        if window[:-1] == before and ends:
            return True
    return False


def finds(query_terms: list[Term], entry: list[str]) -> bool:
    return all(any(has(entry, option) for option in term.options) for term in query_terms)


def parse_query(query: str) -> list[Term]:
    phrase = parse_quoted_phrase(query.strip('"')) if query.startswith('"') else None
    return [phrase] if phrase else terms(query)


@pytest.mark.parametrize(("query", "expected"), FOUND)
def test_queries_find_the_expected_texts(query: str, expected: set[str]) -> None:
    query_terms = parse_query(query)
    assert query_terms
    entries_by_name = {name: next(entries(text)) for name, text in TEXTS.items()}
    assert {
        name for name, entry in entries_by_name.items() if finds(query_terms, entry)
    } == expected


@given(st.text(max_size=400))
@example("_Ö")
def test_the_words_of_any_text_are_bounded_and_contain_no_syntax(text: str) -> None:
    [entry] = entries(text)
    assert len(entry) <= 2 * len(unicodedata.normalize("NFKD", text))
    for word in entry:
        assert 0 < len(word) <= MAX_LENGTH
        assert not [
            character
            for character in word
            if character.isspace() or (character.isascii() and not character.isalnum())
        ]
        word.encode()


@given(st.text(max_size=60))
def test_any_text_is_found_by_itself(text: str) -> None:
    [entry] = entries(text)
    assert finds(terms(text), entry)
    whole = parse_quoted_phrase(text)
    assert whole is None or finds([whole], entry)


@given(st.text(max_size=60), st.text(max_size=60))
def test_a_text_is_folded_character_by_character(text: str, other: str) -> None:
    parts = [part for part in (text, other) if not part.isascii()]
    for first, second in pairwise([*parts, *parts]):
        assert fold(first + second) == fold(first) + fold(second)


def test_very_long_texts_take_linear_time() -> None:
    """Check joined names and runs without spaces of great length."""
    for text in ("a." * 50_000, "a_" * 50_000, "aB" * 50_000, "x" * 100_000, "東" * 100_000):
        text_entries = list(entries(text))
        assert sum(len(word) for entry in text_entries for word in entry) <= 6 * len(text)
        assert max(map(len, text_entries)) <= 2 * (WORDS_OF_A_PART + PAIRS)


def test_a_long_text_is_found_by_its_last_word() -> None:
    text = "word " * 3 * WORDS_OF_A_PART + "zebra"
    assert ["zebra" in entry for entry in entries(text)] == [False, False, False, True]


def test_a_model_is_found_by_each_part_of_its_name() -> None:
    assert name_marks("model", "openai/gpt-4o") == [
        "_model_openaigpt4o",
        "_model_gpt4o",
        "_model_4o",
    ]
    assert name_marks("model", "…") == []
