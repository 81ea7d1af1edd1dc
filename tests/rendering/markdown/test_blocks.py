"""The ends of top-level blocks."""

import pytest

from chatapp.rendering.markdown.blocks import is_undecided, split


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("a\nb\n\nc", "paragraph paragraph"),
        ("a\n# b\nc", "paragraph heading paragraph"),
        ("a\n---\nb", "paragraph paragraph"),
        ("a\n***\nb", "paragraph rule paragraph"),
        ("a\n```\n\n# b\n```\nc", "paragraph fence paragraph"),
        ("```\na\n~~~\n``\n````\nb", "fence paragraph"),
        ("```a``` b", "paragraph"),
        ("a\n<details>\n\nb\n\n</details>\nc", "paragraph details paragraph"),
        ("<details><details>\n</details>\n\na</details>\nb", "details paragraph"),
        ("<details>\n```\n</details>\n```\n`</details>`\n</details>\na", "details paragraph"),
        ("<details a\n\nb", "details"),
        ("<detailsx>\na <details>", "paragraph"),
        ("```md\n```sh\na\n```\n```\nb", "fence paragraph"),
        ("````md\n```sh\n````\nb", "fence paragraph"),
        ("```py\n```sh\na\n```\nb\n\nc", "fence paragraph paragraph"),
        ("```py\n```sh\na\n```\nb\n```", "fence"),
        ("```py\n~~~sh\n```\nb", "fence paragraph"),
        ("- a\n\n- b\n\n  c\nd\n\ne", "list paragraph"),
        ("- a\n* b\n1. c\n2) d", "list list list list"),
        ("1. a\n   ```\n   # b\n   ```\n2. c", "list"),
        ("- a\n# b", "list heading"),
        ("- a\n\n\tb", "list"),
        ("- a\n\nb\tc", "list paragraph"),
        ("a\n- b", "paragraph list"),
        ("a\n2. b", "paragraph"),
        ("> a\nb\n\n> c", "quote quote"),
        ("    a\n\n    b\nc", "indented paragraph"),
        ("$$\n- a\n# b\n$$\nc", "formula paragraph"),
        ("a\n\\begin{align}\n- a\n# b\n\\end{align}\nc", "paragraph formula paragraph"),
        ("$$\n\\begin{align}\n\\end{align}\n# b\n$$", "formula"),
        ("\\begin{itemize}\n- a", "paragraph list"),
        ("$$ never closed\n\n- a", "formula list"),
        ("\n\n", ""),
    ],
)
def test_a_text_is_split_into_blocks_of_these_kinds(text: str, kinds: str) -> None:
    assert " ".join(block.kind for block in split(text)) == kinds


def test_a_very_long_list_is_split_between_items() -> None:
    sources = [block.source for block in split("- some words in an item\n" * 1000)]
    assert len(sources) > 2
    assert all(source.startswith("- some") and len(source) < 9000 for source in sources)


@pytest.mark.parametrize(
    "line",
    ["", "  ", "-", "- ", "1", "12.", "***", "```py", "=", "# ", "$$", "\\beg", "\\begin{al"],
)
def test_an_undecided_line_may_become_something_else(line: str) -> None:
    assert is_undecided(line)


@pytest.mark.parametrize("line", ["a", "- a", "1. a", "1a", "**a", "```a`", "# a", "- " * 200])
def test_a_decided_line_stays_what_it_is(line: str) -> None:
    assert not is_undecided(line)
