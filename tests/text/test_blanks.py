"""Blanks in prompts: what is one, in our spelling and in Open WebUI's, and what stays text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatapp.text.blanks import Blank, Kind, fill, find_blanks, parse

PIECES = ["{{", "}}", "|", "=", ":", ",", "[", "]", '"', "'", "\\", "\n", "a", "date", "\\ud800"]
ANY = st.lists(st.sampled_from(PIECES)).map("".join)
NAMES = st.from_regex(r"[a-zA-Zé][\w-]{0,20}", fullmatch=True)


@pytest.mark.parametrize(
    ("written", "blank"),
    [
        ("topic", Blank("topic")),
        (" Your name ", Blank("Your name")),
        ("topic=the weather", Blank("topic", default="the weather", is_plain=False)),
        (
            "tone|formal, casual",
            Blank("tone", Kind.CHOICE, ("formal", "casual"), "formal", is_plain=False),
        ),
        (
            "tone=casual|formal, casual",
            Blank("tone", Kind.CHOICE, ("formal", "casual"), "casual", is_plain=False),
        ),
        ("day|date", Blank("day", Kind.DATE, is_plain=False)),
        ("day=2026-01-31 | date", Blank("day", Kind.DATE, (), "2026-01-31", is_plain=False)),
        ("notes|lines", Blank("notes", Kind.LINES, is_plain=False)),
        # As Open WebUI writes them
        ("notes | textarea", Blank("notes", Kind.LINES, is_plain=False)),
        (
            'name | text:placeholder="Enter: a name":required',
            Blank("name", Kind.TEXT, (), "", "Enter: a name", is_required=True, is_plain=False),
        ),
        (
            'p | select:options=["High","Low, or none"]:default="High":required=true',
            Blank(
                "p",
                Kind.CHOICE,
                ("High", "Low, or none"),
                "High",
                is_required=True,
                is_plain=False,
            ),
        ),
        ("n | range:min=1:max=10", Blank("n", Kind.NUMBER, is_plain=False)),
        ("n | number:default=5", Blank("n", Kind.NUMBER, (), "5", is_plain=False)),
        ("q | checkbox", Blank("q", Kind.CHOICE, ("true", "false"), "false", is_plain=False)),
        ("at | datetime-local", Blank("at", Kind.DATETIME, is_plain=False)),
        ("c | color:default='#fff'", Blank("c", Kind.TEXT, (), "#fff", is_plain=False)),
    ],
)
def test_a_blank_is_recognised(written: str, blank: Blank) -> None:
    assert parse(f"a {{{{{written}}}}} b") == ["a ", blank, " b"]


@pytest.mark.parametrize(
    "text",
    [
        *("{{}}", "{{ }}", "{{a", "a}}", "{topic}", "{{a\nb}}", "{{ 1 + 2 }}", "{{#if a}}"),
        *("{{ user | upper }}", "{{a|}}", "{{p | select}}", "$\\frac{{a}{b}}$", "{{" * 1000),
    ],
)
def test_what_is_not_a_blank_stays_as_it_is(text: str) -> None:
    assert find_blanks(text) == []
    assert fill(text, {}) == text


def test_a_backslash_keeps_the_braces() -> None:
    assert fill(r"Write \{{topic}} for {{topic}}", {"topic": "tea"}) == "Write {{topic}} for tea"


def test_a_blank_is_asked_once_and_defined_where_it_says_more() -> None:
    text = "{{tone}}, {{day|date}}, {{tone|a, b}}, {{tone|c, d}}"
    tone, day = find_blanks(text)
    assert (tone.options, day.kind) == (("a", "b"), Kind.DATE)
    assert fill(text, {"tone": "b", "day": "today"}) == "b, today, b, b"


def test_a_blank_without_a_value_gets_its_default() -> None:
    assert fill("{{a=1}}{{b}}{{c|x, y}}", {}) == "1x"


def test_values_are_not_parsed() -> None:
    assert fill("{{a}} {{b}}", {"a": "{{b}}", "b": "{{a}}"}) == "{{b}} {{a}}"


@given(ANY)
def test_any_text_can_be_parsed(text: str) -> None:
    parts = parse(text)
    assert all(isinstance(part, str) for part in parts) or find_blanks(text)
    fill(text, {}).encode()
    assert len({blank.name for blank in find_blanks(text)}) == len(find_blanks(text))


@given(st.text())
def test_text_without_blanks_is_kept(text: str) -> None:
    if not find_blanks(text) and "\\{{" not in text:
        assert fill(text, {}) == text


@given(NAMES, st.lists(st.from_regex(r"\w[\w ]{0,9}\w", fullmatch=True), min_size=2, unique=True))
def test_every_choice_is_offered(name: str, options: list[str]) -> None:
    [blank] = find_blanks(f"{{{{{name}|{', '.join(options)}}}}}") if len(options) < 50 else [None]
    assert blank is None or set(blank.options) == {option.strip() for option in options}
