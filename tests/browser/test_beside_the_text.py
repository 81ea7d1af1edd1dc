"""Content that comes with a reply besides its text, and replies that say nothing at all."""

import base64
import struct
import zlib

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Tab
from tests.support.fake_upstream import (
    FakeUpstream,
    choice,
    chunk,
    delta,
    done,
    finish,
    reasoning,
    role,
    usage,
)


def png(width: int, height: int) -> str:
    """Return a data URL of an uncompressed grey picture, so that it is large."""

    def piece(name: bytes, data: bytes) -> bytes:
        checksum = struct.pack(">I", zlib.crc32(name + data))
        return struct.pack(">I", len(data)) + name + data + checksum

    head = piece(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    rows = zlib.compress((b"\0" + b"\xa0" * width) * height, level=0)
    data = b"\x89PNG\r\n\x1a\n" + head + piece(b"IDAT", rows) + piece(b"IEND", b"")
    return f"data:image/png;base64,{base64.b64encode(data).decode()}"


def test_sources_and_a_large_image_are_shown_and_stay(tab: Tab, upstream: FakeUpstream) -> None:
    sources = [
        {"url": "https://a.example/one", "title": "<b>One</b>"},
        {"url": "javascript:alert(1)"},
    ]
    url = png(1600, 1200)
    assert len(url) > 2_000_000
    upstream.script(
        *(role(), delta("Here it is[1]."), choice({"images": [{"image_url": {"url": url}}]})),
        *(chunk([], search_results=sources), finish(), usage(), done()),
    )
    tab.ask("Draw it, and say where from")
    tab.expect_ending("complete")
    for _ in tab.live_and_reloaded():
        image = tab.region("images").get_by_role("img")
        image.scroll_into_view_if_needed()
        expect(image).to_have_js_property("naturalWidth", 1600)
        link = tab.reply.get_by_role("region", name="Sources").get_by_role("link")
        expect(link).to_have_count(1)
        expect(link).to_have_text("<b>One</b>")
        expect(link).to_have_attribute("href", "https://a.example/one")
        expect(link).to_have_attribute("rel", "noopener noreferrer nofollow")
        tab.reply.get_by_label("About this reply").click()
        expect(tab.reply).to_contain_text("1 piece of the stream could not be read")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("chunks", "sentence"),
    [
        ([role(), finish(), usage(), done()], "ended the reply without an answer"),
        ([role(), done()], "ended the reply without an answer"),
        ([reasoning("Hm."), finish(), done()], "thought, but gave no answer"),
    ],
)
def test_a_missing_answer_is_explained_and_can_be_retried(
    tab: Tab, upstream: FakeUpstream, chunks: list[bytes], sentence: str
) -> None:
    upstream.script(*chunks)
    tab.ask("Are you there?")
    tab.expect_ending("no_answer")
    expect(tab.reply.get_by_role("alert")).to_contain_text(sentence)
    expect(tab.reply.get_by_role("button", name="Continue")).to_have_count(0)
    tab.reload()
    expect(tab.reply.get_by_role("alert")).to_contain_text(sentence)
    tab.reply.get_by_role("button", name="Retry").click()
    tab.expect_ending("complete")
    expect(tab.answer).to_have_text("Packets in flight")


def test_done_after_half_an_answer_is_cut_off_and_can_be_continued(
    tab: Tab, upstream: FakeUpstream
) -> None:
    upstream.script(role(), delta("Half of it"), done())
    tab.ask("All of it, please")
    tab.expect_ending("cut_off")
    expect(tab.answer).to_have_text("Half of it")
    expect(tab.reply.get_by_role("alert")).to_contain_text("The text so far has been saved.")
    tab.reply.get_by_role("button", name="Continue").click()
    expect(tab.page.locator("article")).to_have_count(2)
    tab.expect_ending("complete")
    for _ in tab.live_and_reloaded():
        expect(tab.page.locator(".prompt")).to_have_text(["YouAll of it, please", "YouContinued"])
        expect(tab.page.locator(".bubble")).to_have_count(1)
    expect(tab.page.get_by_role("heading", name="All of it, please")).to_be_visible()
    tab.ask("And then?")
    expect(tab.page.locator("article")).to_have_count(3)
    tab.expect_ending("complete")
    contents = [message["content"] for message in upstream.chat_requests[-1].body["messages"]]
    assert contents[:2] == ["All of it, please", "Half of it"]
    assert contents[2].startswith("Continue where you stopped.")
    assert contents[3:] == ["Packets in flight", "And then?"]
