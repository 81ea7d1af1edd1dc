"""Links end where their address does, and lead where they seem to."""

import pytest

from chatapp.rendering.markdown import render
from tests.support import dom


def links_in(text: str) -> list[tuple[str, str]]:
    links = dom.fragment(render(text)).select("a")
    return [(link.text, link.attr("href") or "") for link in links]


@pytest.mark.parametrize(
    "mark", "\u3002\uff0c\u3001\uff1b\uff01\uff1f\uff09\u300d\u300f\u3011\u300b\u201d\u2026"
)
@pytest.mark.parametrize(
    "address", ["https://example.org/a", "http://example.org", "www.a.example/x"]
)
def test_an_address_ends_before_a_mark(address: str, mark: str) -> None:
    text = f"见 {address}{mark}后文 https://b.example/"
    links = links_in(text)
    assert [words for words, _ in links] == [address, "https://b.example/"]
    assert links[0][1].endswith(address)
    assert dom.fragment(render(text)).text.strip() == text


@pytest.mark.parametrize(
    "text",
    [
        "bank.example.org@evil.example",
        "https://bank.example.org@evil.example/a?b",
        "http://a:b@evil.example",
        "www.bank.example@evil.example",
        "[bank](https://bank.example.org@evil.example)",
    ],
)
def test_an_address_that_hides_its_host_is_no_link(text: str) -> None:
    assert [address for _, address in links_in(text) if "evil" in address] == []


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("ann.lee@example.org", "mailto:ann.lee@example.org"),
        ("https://example.org/@ann", "https://example.org/@ann"),
        ("https://example.org/?to=a@b.example", "https://example.org/?to=a@b.example"),
        ("<https://example.org/a。>", "https://example.org/a%E3%80%82"),
        ("[a](https://example.org/a。)", "https://example.org/a%E3%80%82"),
        ("https://zh.example/维基", "https://zh.example/%E7%BB%B4%E5%9F%BA"),
    ],
)
def test_other_addresses_are_links(text: str, address: str) -> None:
    assert [link for _, link in links_in(text)] == [address]


def test_code_stays_as_it_is() -> None:
    assert "<code>https://a.b@c.d 与 https://e.f。</code>" in render(
        "`https://a.b@c.d 与 https://e.f。`"
    )
