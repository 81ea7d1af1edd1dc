"""Names of tools as people read them."""

import pytest

from chatapp.rendering.fragments.tool_names import ReadableName, readable_name
from chatapp.tools.tool import name_for_model


@pytest.mark.parametrize(
    ("name", "words", "server"),
    [
        ("wiki__search_wiki", "Search wiki", "Wiki"),
        ("company-wiki__getURL", "Get URL", "Company wiki"),
        ("current_date_and_time", "Current date and time", ""),
        ("web.run", "Web run", ""),
        ("listHTTPRoutes", "List HTTP routes", ""),
    ],
)
def test_a_name_is_put_into_words(name: str, words: str, server: str) -> None:
    assert readable_name(name) == ReadableName(words, server, name)


def test_what_makes_a_name_acceptable_for_models_is_left_out() -> None:
    name = name_for_model("notes", "notes/search.all")
    assert readable_name(name) == ReadableName("Notes search all", "Notes", name)


@pytest.mark.parametrize("name", ["wiki____", "not a name", "<b>wiki</b>__search"])
def test_another_name_stays_as_it_is(name: str) -> None:
    assert readable_name(name) == ReadableName(name)


def test_a_name_that_has_not_arrived_is_a_tool() -> None:
    assert readable_name("") == ReadableName("Tool")
