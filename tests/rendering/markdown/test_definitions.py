"""Link definitions: where they may be, and how often they may be used."""

import pytest

from chatapp.rendering.markdown import budgets, render
from chatapp.rendering.markdown.blocks import split
from chatapp.rendering.markdown.definitions import Definitions, UsedDefinitions
from tests.support.dom import fragment


def learn_definitions(text: str) -> Definitions:
    definitions = Definitions()
    for block in split(text):
        definitions.learn(block)
    return definitions


@pytest.mark.parametrize(
    ("text", "used"),
    [
        ("[a]: /b", "[a]: /b\n\n"),
        ("[ A ]: /b", "[ A ]: /b\n\n"),
        ("[a]: /b\n[a]: /c", "[a]: /b\n\n"),
        ("[b]: /b", ""),
        ("x\n[a]: /b", ""),
        ("- [a]: /b", ""),
        ("[a]:", ""),
        ("[a]: " + "b" * budgets.MAX_DEFINITION_LENGTH, ""),
    ],
)
def test_a_block_gets_the_definitions_that_it_uses(text: str, used: str) -> None:
    assert learn_definitions(text).find_used("see [a]") == used


def test_code_and_oversized_blocks_use_no_definitions() -> None:
    used = UsedDefinitions(learn_definitions("[a]: /b"))
    fence, large = split("```\n[a]\n```\n" + "[a] " * budgets.MAX_BLOCK_LENGTH)
    assert (used.for_block(fence), used.for_block(large)) == ("", "")


def test_definitions_reach_every_block() -> None:
    first, empty, last = fragment(render("[foo]\n\n[foo]: http://a.b\n\n[Foo]")).children
    assert empty.inner_html == ""
    assert 'href="http://a.b"' in first.html
    assert 'href="http://a.b"' in last.html


def test_a_long_url_is_not_repeated_without_limit() -> None:
    address = "http://a.b/" + "x" * 1900
    html = render(f"[a]: {address}\n\n" + "[a] " * 2000 + "\n\n" + "[a]\n\n" * 500)
    assert len(html) < 2 * budgets.MAX_DEFINED + 200_000
    assert "<p>[a]</p>" in html  # beyond the limit it is no longer a link


@pytest.mark.parametrize("label", ["1", "^1"])
def test_a_list_of_references_is_not_a_definition(label: str) -> None:
    text = f"As in [{label}].\n\nMore.\n\n[{label}]: Smith, J. (2020). A Title.\n"
    assert render(text).count("Smith, J.") == 1
    assert render(text).index("As in") < render(text).index("Smith, J.")


@pytest.mark.parametrize("title", ["", ' "A title"', " 'A title'", " (A title)", "  "])
def test_a_definition_may_have_a_title(title: str) -> None:
    html = render(f"As in [a].\n\n[a]: <https://example.org/x>{title}\n")
    assert 'href="https://example.org/x"' in html
