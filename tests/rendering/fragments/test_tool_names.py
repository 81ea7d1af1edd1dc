"""Names of tools as people read them."""

from dataclasses import replace
from uuid import UUID

import pytest

from chatapp.models.conversations.messages.rounds import ToolRun
from chatapp.rendering.fragments.replies import CallRegion
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


def test_a_servers_title_takes_the_place_of_the_name() -> None:
    name = "wiki__search_wiki"
    assert readable_name(name, "<b>Find</b> pages") == ReadableName(
        "<b>Find</b> pages", "Wiki", name
    )


def test_what_makes_a_name_acceptable_for_models_is_left_out() -> None:
    name = name_for_model("notes", "notes/search.all")
    assert readable_name(name) == ReadableName("Notes search all", "Notes", name)


@pytest.mark.parametrize("name", ["wiki____", "not a name", "<b>wiki</b>__search"])
def test_another_name_stays_as_it_is(name: str) -> None:
    assert readable_name(name) == ReadableName(name)


def test_a_name_that_has_not_arrived_is_a_tool() -> None:
    assert readable_name("") == ReadableName("Tool")


def test_a_call_is_named_by_its_title_also_once_it_is_stored() -> None:
    run = ToolRun("1", "wiki__search", "{}", title="Find <b>pages</b>")
    stored = ToolRun.from_record({**run.as_record(), "of a later version": 1})
    stored.restore_aside(run.aside_record())
    for tool_run in (run, stored):
        assert CallRegion(0, 0, tool_run, "c", UUID(int=7)).tool == ReadableName(
            "Find <b>pages</b>", "Wiki", "wiki__search"
        )
    assert "title" not in run.as_record()
    assert not replace(run, title="").aside_record()
    assert "title" not in str(run.as_request(with_extras=True))
