"""Characters that are not allowed in a page, and escaping."""

import nh3
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatapp.rendering.markdown.characters import clean, encodable, escape


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("a\r\nb\rc\n", "a\nb\nc\n"),
        ("a\0\x08\x7f\x0cb\t", "a\ufffd\ufffd\ufffd\ufffdb\t"),
        ("\ud800\udfff", "\ufffd\ufffd"),
        ("\ufdd0\ufdef\ufffe\uffff", "\ufffd" * 4),
        ("é日本\U0001f600\xa0", "é日本\U0001f600\xa0"),
    ],
)
def test_line_endings_and_forbidden_characters_are_replaced(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


@given(st.text())
def test_cleaning_twice_changes_nothing(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@given(st.text(st.characters() | st.sampled_from("&<>\xa0\"'")))
def test_text_is_escaped_like_the_cleaner_does(text: str) -> None:
    cleaned_text = clean(text)
    assert escape(cleaned_text) == nh3.Cleaner(tags=set()).clean(escape(cleaned_text))


@given(st.text(st.characters() | st.sampled_from("\ud800\udbff\udc00")))
def test_encodable_text_can_be_encoded(text: str) -> None:
    assert len(encodable(text).encode().decode()) == len(text)
