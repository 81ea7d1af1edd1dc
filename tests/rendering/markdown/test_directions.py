"""Right-to-left text is marked by most of its letters, not by the first one."""

import pytest

from chatapp.rendering.markdown import render
from tests.support.dom import fragment

HEBREW = "הוא כלי להרצת מכולות"


@pytest.mark.parametrize(
    "text",
    [
        f"`npm install` {HEBREW}",
        f"Docker {HEBREW}",
        f"{HEBREW} `foo --bar=1`, `/etc/app.conf`, `a_long_name_in_latin_letters`",
        f"# `git` {HEBREW}",
    ],
)
def test_the_direction_of_a_block_follows_most_of_its_letters(text: str) -> None:
    block = fragment(render(text)).find("div")
    assert block
    assert block.attrs["dir"] == "rtl"
    [inside] = [element for element in block.find_all(True) if element.tag in ("p", "h3")]
    assert inside.attrs["dir"] == "rtl"


def test_each_item_and_cell_has_its_own_direction() -> None:
    listed = fragment(render(f"- `git push`: {HEBREW}\n- Only English\n  - {HEBREW}\n"))
    assert [element.attrs.get("dir") for element in listed.find_all("li")] == ["rtl", None, "rtl"]
    table = fragment(render(f"| Name {HEBREW} | b |\n|---|---|\n| c | {HEBREW} |\n"))
    assert [element.attrs.get("dir") for element in table.find_all("th")] == ["rtl", None]
    assert [element.attrs.get("dir") for element in table.find_all("td")] == [None, "rtl"]


@pytest.mark.parametrize("text", ["English and שלום.", "Only English.", "`שלום` in English"])
def test_other_text_is_left_to_the_browser(text: str) -> None:
    html = render(text)
    assert 'dir="rtl"' not in html
    assert 'class="block" dir="auto"' in html


def test_code_is_never_right_to_left() -> None:
    html = render(f"```python\n# {HEBREW}\n```\n")
    assert 'dir="rtl"' not in html
