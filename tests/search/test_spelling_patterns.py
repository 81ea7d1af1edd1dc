"""The words of a search in a text, and the passage shown around them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatapp.search.spelling_patterns import Segment, SpellingPatterns
from chatapp.text.indexing import Term, parse_quoted_phrase, terms


def mark_matches(query: str, text: str) -> str:
    return _with_brackets(SpellingPatterns(_terms(query)).mark_matches(text))


def passage(query: str, text: str) -> str:
    segments, _ = SpellingPatterns(_terms(query)).passage(text)
    return _with_brackets(segments)


def _terms(query: str) -> list[Term]:
    phrase = parse_quoted_phrase(query) if query.startswith('"') else None
    return [phrase] if phrase else terms(query)


def _with_brackets(segments: list[Segment]) -> str:
    return "".join(
        f"[{segment.text}]" if segment.is_found else segment.text for segment in segments
    )


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("pack", "Packets unpack", "[Pack]ets unpack"),
        ("pack", "unpacked", "un[pack]ed"),
        ("cafe", "Ein CAFÉ, cafe\u0301!", "Ein [CAFÉ], [café]!"),
        ("strasse", "Die Straße da", "Die [Straße] da"),
        ("user", "getUserName", "get[User]Name"),
        ("getusername", "get_user_name()", "[get_user_name]()"),
        ("dont", "We don't", "We [don't]"),
        ("a", "A cat, a mat", "[A] cat, [a] mat"),
        ("東京", "今日は東京です", "今日は[東京]です"),
        ("서버를", "서버에서", "[서버]에서"),
        ("كتاب", "الكتاب", "ال[كتاب]"),
        ('"router to"', "from router  to it", "from [router  to] it"),
        ("b i", "<b>i</b>", "<[b]>[i]</[b]>"),
        ("zebra", "no such", "no such"),
        ("…", "nothing to see", "nothing to see"),
    ],
)
def test_matches_are_marked(query: str, text: str, expected: str) -> None:
    assert mark_matches(query, text) == expected


def test_the_passage_is_where_most_words_are_together() -> None:
    text = "nginx " + "filler " * 100 + "the timeout of nginx is 60 s " + "more " * 100
    excerpt = passage("nginx timeout", text)
    assert "[timeout] of [nginx]" in excerpt
    assert excerpt.startswith("… ")
    assert excerpt.endswith(" …")
    assert len(excerpt) < 300


@pytest.mark.parametrize("filler", ["filler ", "füller ", "İß ", "東京"])
def test_a_passage_far_into_a_text_is_found_in_any_script(filler: str) -> None:
    assert "[zebra]" in passage("zebra", filler * 400 + " zebra " + filler * 400)


def test_a_text_without_matches_is_shown_from_its_beginning() -> None:
    segments, is_found = SpellingPatterns(terms("zebra")).passage("One two " * 100)
    assert not is_found
    assert segments[0].text.startswith("One two")


@given(st.text(max_size=300), st.text(max_size=40))
def test_marking_does_not_change_the_text(text: str, query: str) -> None:
    looks = SpellingPatterns(terms(query))
    assert "".join(segment.text for segment in looks.mark_matches(text)) == "".join(
        segment.text for segment in SpellingPatterns([]).mark_matches(text)
    )
    looks.passage(text)
