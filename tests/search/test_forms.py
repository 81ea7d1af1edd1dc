"""What a person types is words, phrases and filters; nothing of it is a database's syntax."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatapp.models import Upstream, User
from chatapp.search.forms import LONGEST, SearchForm
from tests.search.conftest import Search, titles, written
from tests.support.profile import scaled

VIENNA = timezone(timedelta(hours=1))
HOSTILE = (
    'AND OR NOT NEAR("a b", 3) "unclosed * ^ {words}: - + ( ) a:* & | ! <-> \' \\ :: ;--',
    "words:canary",
    'chatapp_words MATCH "x"',
    "'; DROP TABLE chatapp_searchentry; --",
    "%s %(name)s %%",
    "a\ud800b \U0010ffff",
    '""""',
    "*",
    "1_canary",
    "_title _me __code",
)


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("from:bob", "from: takes me or model."),
        ("has:pictures", "has: takes code."),
        ("x" * (LONGEST + 1), "Search for 500 characters at most."),
        ("a\0b", "Null characters are not allowed."),
        ("a b " * 17, "Search for 32 words at most."),
    ],
)
def test_what_can_not_be_meant_gets_a_sentence(query: str, problem: str) -> None:
    assert SearchForm({"q": query}, UTC).problem == problem


@pytest.mark.parametrize("day", ["soon", "2026-13", "2026-02-30", "0000", "1.5.2026"])
@pytest.mark.parametrize("name", ["before", "after"])
def test_a_day_that_no_calendar_has_is_told_with_an_example(name: str, day: str) -> None:
    problem = SearchForm({"q": f"{name}:{day}"}, UTC).problem
    assert problem.startswith(f"{name}: takes a day, for example 20")


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("2026-05-31", datetime(2026, 5, 30, 23, tzinfo=UTC)),
        ("2026-5", datetime(2026, 4, 30, 23, tzinfo=UTC)),
        ("2026", datetime(2025, 12, 31, 23, tzinfo=UTC)),
    ],
)
def test_a_day_begins_where_the_person_is(value: str, moment: datetime) -> None:
    form = SearchForm({"q": f"before:{value}"}, VIENNA)
    assert form.is_valid()
    assert form.wanted.before == moment


@pytest.mark.parametrize("query", ["", " ", "from:", "before: ", 'project:""', '"', "…", "!!"])
def test_what_is_still_to_be_typed_asks_for_nothing(query: str) -> None:
    form = SearchForm({"q": query}, UTC)
    assert form.is_valid()
    assert form.wanted.is_nothing


@given(st.text(max_size=LONGEST))
@settings(max_examples=scaled(100, 600))
def test_anything_is_read(query: str) -> None:
    form = SearchForm({"q": query}, UTC)
    assert form.is_valid() or form.problem


@pytest.mark.parametrize("query", HOSTILE)
def test_no_syntax_of_a_database_reaches_it(
    search: Search, alice: User, connected: Upstream, query: str
) -> None:
    written(alice, connected, "Birds", "Of the canary")
    assert titles(search(query)) in ([], ["Birds"])
    assert titles(search("canary")) == ["Birds"]


def test_a_query_finds_the_text_that_it_is(
    search: Search, alice: User, connected: Upstream
) -> None:
    for number, query in enumerate(HOSTILE[:5]):
        text = query.replace("words:", "")
        written(alice, connected, f"Chat {number}", text)
        assert f"Chat {number}" in titles(search(text.replace('"', ""))), query
