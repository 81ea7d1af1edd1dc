"""Names, results and arguments of tools, without a server."""

import re
from dataclasses import replace

import pytest

from chatapp.tools import Tool, ToolResult
from chatapp.tools.tool import InvalidArguments, brief, check_arguments, name_for_model

ACCEPTED = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def nest_objects(depth: int) -> dict[str, object]:
    return {"deeper": nest_objects(depth - 1)} if depth else {}


@pytest.mark.parametrize(
    "own_name", ["rm -rf / <b>ü</b>", "", "a" * 200, "\0", "🦊", "\udc00", "a.b", "line\nbreak"]
)
def test_every_name_becomes_one_that_upstreams_accept(own_name: str) -> None:
    assert ACCEPTED.fullmatch(name_for_model("wiki", own_name))


def test_a_fitting_name_stays_readable() -> None:
    assert name_for_model("wiki", "search_pages") == "wiki__search_pages"


def test_different_names_stay_different_when_changed() -> None:
    names = {name_for_model("wiki", own) for own in ("a.b", "a b", "a_b", "x" * 90, "x" * 91)}
    assert len(names) == 5


def test_a_tool_has_the_form_that_requests_need() -> None:
    tool = Tool("wiki__search", "search", "wiki", "Searches.", {"type": "object"}, True)
    assert tool.as_request() == {
        "type": "function",
        "function": {
            "name": "wiki__search",
            "description": "Searches.",
            "parameters": {"type": "object"},
        },
    }


def test_a_definition_changes_with_what_the_server_says() -> None:
    tool = Tool("wiki__search", "search", "wiki", "Searches.", {"type": "object"}, True)
    assert replace(tool, asks_first=False).definition == tool.definition
    assert replace(tool, title="Search").definition != tool.definition
    assert replace(tool, description="Deletes.").definition != tool.definition
    assert replace(tool, parameters={"type": "object", "required": ["q"]}) != tool


def test_a_result_within_the_limit_is_whole() -> None:
    assert ToolResult.from_text("über", 5) == ToolResult("über")


def test_a_longer_result_is_cut_between_characters_with_a_note() -> None:
    result = ToolResult.from_text("üüü", 3)
    assert result.text == "ü\n\n[The result was cut: it has 6 bytes, the limit is 3.]"


def test_a_result_contains_nothing_that_a_database_rejects() -> None:
    assert ToolResult.from_text("a\0b\udc00", 100).text == "a\N{REPLACEMENT CHARACTER}b?"


def test_a_long_description_is_cut() -> None:
    assert brief("long " * 1000, 11) == "long long…"


@pytest.mark.parametrize(
    "arguments",
    [nest_objects(65), {"a": float("nan")}, {"a": [float("inf")]}, {"a": "\ud800"}, {"\ud800": 1}],
)
def test_arguments_that_json_cannot_express_are_rejected(arguments: dict[str, object]) -> None:
    with pytest.raises(InvalidArguments):
        check_arguments(arguments)


def test_arguments_that_json_can_express_are_accepted() -> None:
    check_arguments({"a": [1, 2.5, None, "ü\0"], "b": nest_objects(60)})
