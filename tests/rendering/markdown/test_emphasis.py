"""Emphasis in languages without spaces between words, as markdown-cjk-friendly specifies it."""

import pytest

from chatapp.rendering.markdown import render
from tests.support.dom import fragment


@pytest.mark.parametrize(
    ("text", "strong"),
    [
        ("**注意：**请先备份。", ["注意："]),
        ("これは**「重要」**な点です。", ["「重要」"]),
        ("**「A」**なので**「B」**です。", ["「A」", "「B」"]),
        ("**`a.yaml`**文件", ["a.yaml"]),
        ("这是**“重要”**的", ["“重要”"]),
        ("**(가)**는", ["(가)"]),
        ("값은**강조**된다", ["강조"]),
        ("**これは太字になりません。**ご注意ください。", ["これは太字になりません。"]),
        ("カッコ**（太字）**と**太字**", ["（太字）", "太字"]),
        ("**[链接](https://example.org/)**文字", ["链接"]),
        ("- **「項目」**の説明", ["「項目」"]),
        ("|a|b|\n|-|-|\n|**「x」**の|c|", ["「x」"]),
        ("Only **Latin** here, and (**this**).", ["Latin", "this"]),
    ],
)
def test_strong_works_next_to_cjk_characters(text: str, strong: list[str]) -> None:
    html = render(text)
    assert [element.text for element in fragment(html).find_all("strong")] == strong
    assert "**" not in fragment(html).text


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("~~旧的（删）。~~新的。", "del"),
        ("*「斜体」*の", "em"),
        ("***「両方」***の", "strong"),
    ],
)
def test_strikethrough_and_italics_work_next_to_cjk_characters(text: str, tag: str) -> None:
    assert len(fragment(render(text)).find_all(tag)) == 1


@pytest.mark.parametrize(
    "text",
    ["2 * 「3」 * 4", "** 「A」 **", "\\*「A」\\*", "`**「A」**な`", "    **「A」**な", "a * b"],
)
def test_text_without_emphasis_stays_as_typed(text: str) -> None:
    html = render(text)
    assert not fragment(html).find_all("strong")
    assert not fragment(html).find_all("em")
    assert "\ufdd3" not in html


def test_a_url_keeps_its_characters() -> None:
    html = render("[a](https://example.org/**「b」**な) **「c」**な")
    assert "%EF%B7%93" not in html
    assert 'href="https://example.org/**%E3%80%8Cb%E3%80%8D**%E3%81%AA"' in html
