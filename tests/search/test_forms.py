"""A query is words, phrases and filters; none of it is database syntax."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatapp.models import Upstream, User
from chatapp.search.forms import MAX_LENGTH, SearchForm
from tests.search.conftest import Search, titles, write_chat
from tests.support.profile import choose_size

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
        ("from:bob", "Use from:me or from:model."),
        ("has:pictures", "Use has:code."),
        ("x" * (MAX_LENGTH + 1), "A search can have at most 500 characters."),
        ("a\0b", "Null characters are not allowed."),
        ("a b " * 17, "A search can have at most 32 words."),
    ],
)
def test_an_invalid_query_gives_an_error_message(query: str, problem: str) -> None:
    assert SearchForm({"q": query}, UTC).problem == problem


@pytest.mark.parametrize("day", ["soon", "2026-13", "2026-02-30", "0000", "1.5.2026"])
@pytest.mark.parametrize("name", ["before", "after"])
def test_an_invalid_date_gives_an_error_with_an_example(name: str, day: str) -> None:
    problem = SearchForm({"q": f"{name}:{day}"}, UTC).problem
    assert problem.startswith(f"Use a date, for example {name}:20")


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("2026-05-31", datetime(2026, 5, 30, 23, tzinfo=UTC)),
        ("2026-5", datetime(2026, 4, 30, 23, tzinfo=UTC)),
        ("2026", datetime(2025, 12, 31, 23, tzinfo=UTC)),
    ],
)
def test_a_day_begins_in_the_persons_time_zone(value: str, moment: datetime) -> None:
    form = SearchForm({"q": f"before:{value}"}, VIENNA)
    assert form.is_valid()
    assert form.search_query.before == moment


@pytest.mark.parametrize("query", ["", " ", "from:", "before: ", 'project:""', '"', "…", "!!"])
def test_an_unfinished_filter_is_ignored(query: str) -> None:
    form = SearchForm({"q": query}, UTC)
    assert form.is_valid()
    assert form.search_query.is_empty


@given(st.text(max_size=MAX_LENGTH))
@settings(max_examples=choose_size(100, 600))
def test_any_text_can_be_parsed(query: str) -> None:
    form = SearchForm({"q": query}, UTC)
    assert form.is_valid() or form.problem


@pytest.mark.parametrize("query", HOSTILE)
def test_no_query_reaches_the_database_as_syntax(
    search: Search, alice: User, saved_upstream: Upstream, query: str
) -> None:
    write_chat(alice, saved_upstream, "Birds", "Of the canary")
    assert titles(search(query)) in ([], ["Birds"])
    assert titles(search("canary")) == ["Birds"]


def test_a_text_is_found_by_itself(search: Search, alice: User, saved_upstream: Upstream) -> None:
    for number, query in enumerate(HOSTILE[:5]):
        text = query.replace("words:", "")
        write_chat(alice, saved_upstream, f"Chat {number}", text)
        assert f"Chat {number}" in titles(search(text.replace('"', ""))), query
