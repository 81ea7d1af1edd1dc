"""Attaching files in the composer: what a person sees and does until the prompt is sent."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import FilePayload, Locator, Route, expect

from tests.browser.conftest import LARGE, SMALL, Desk, SitDown, Tab
from tests.browser.test_accessible import expect_accessible
from tests.documents.files import pdf
from tests.support.fake_upstream import FakeUpstream
from tests.support.live import Person, Server
from tests.support.pictures import png

PARTS = re.compile(r"/files/[0-9a-f-]+/part/$")
MIB = 1024 * 1024
LONG = "\n\n".join(f"Line {number} of a log." for number in range(400))
PASTED = "Pasted text.txt"


def file(name: str, data: bytes | str = "Some notes.") -> FilePayload:
    data = data.encode() if isinstance(data, str) else data
    return {"name": name, "mimeType": "application/octet-stream", "buffer": data}


def attach(tab: Tab, *files: FilePayload) -> None:
    with tab.page.expect_file_chooser() as chooser:
        tab.page.get_by_role("button", name="Attach files").click()
    chooser.value.set_files(list(files))


def chips(tab: Tab) -> Locator:
    return tab.page.get_by_role("list", name="Attached files").get_by_role("listitem")


def chip(tab: Tab, name: str) -> Locator:
    return chips(tab).filter(has_text=name)


def button(tab: Tab, name: str) -> Locator:
    return tab.page.get_by_role("button", name=name, exact=True)


def expect_state(tab: Tab, name: str, state: str = "ready") -> None:
    expect(chip(tab, name)).to_have_attribute("data-state", state)


def content(upstream: FakeUpstream) -> Any:
    return upstream.chat_requests[-1].body["messages"][-1]["content"]


class HeldUploads:
    """Parts of uploads that are held back until they are released."""

    def __init__(self, tab: Tab) -> None:
        self._tab = tab
        self._routes: list[Route] = []
        self._is_open = False
        tab.page.route(PARTS, self._hold)

    def until(self, count: int = 1) -> None:
        while len(self._routes) < count:
            self._tab.page.evaluate("new Promise(requestAnimationFrame)")

    def let_one_through(self) -> None:
        self._routes.pop(0).continue_()

    def release(self) -> None:
        self._is_open = True
        while self._routes:
            self.let_one_through()

    def forget(self) -> None:
        """Hold nothing any more; the page that sent what was held has gone."""
        self._is_open = True
        self._routes.clear()

    def _hold(self, route: Route) -> None:
        if self._is_open:
            route.continue_()
        else:
            self._routes.append(route)


def transfer(tab: Tab, event: str, target: str, name: str, text: str, kind: str) -> None:
    """Fire an event of the clipboard or of a drag that brings one file, or a text if no name."""
    tab.page.evaluate(
        """([event, target, name, text, kind]) => {
          const data = new DataTransfer();
          const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
          if (name) data.items.add(new File([bytes], name, { type: kind }));
          else data.setData("text/plain", text);
          const options = { bubbles: true, cancelable: true };
          const made = event === "paste"
            ? new ClipboardEvent(event, { ...options, clipboardData: data })
            : new DragEvent(event, { ...options, dataTransfer: data });
          document.querySelector(target).dispatchEvent(made);
        }""",
        [event, target, name, text, kind],
    )


# ---- attaching


def test_files_are_sent_with_a_prompt_or_alone(tab: Tab, upstream: FakeUpstream) -> None:
    attach(tab, file("notes.txt", "The sky is green. " * 20))
    expect_state(tab, "notes.txt")
    expect(chip(tab, "notes.txt")).to_contain_text("Text · 360")
    expect(chip(tab, "notes.txt")).to_contain_text(re.compile(r"about \d+ tokens"))
    expect(tab.page.locator("#files-tokens")).to_have_text(re.compile(r"About \d+ tokens"))
    expect(tab.page.locator("#announcer")).to_contain_text("notes.txt ready to be sent.")
    tab.ask("What colour?")
    tab.expect_ending("complete")
    document, prompt = content(upstream)
    assert "The sky is green." in document["text"]
    assert prompt["text"] == "What colour?"
    expect(chips(tab)).to_have_count(0)
    attach(tab, file("one.txt", "First"), file("two.txt", "Second"))
    expect_state(tab, "two.txt")
    expect_state(tab, "one.txt")
    tab.ask("")
    tab.expect_ending("complete")
    for name in ("notes.txt", "one.txt", "two.txt"):
        expect(tab.page.locator(".prompt").get_by_text(name)).to_be_visible()
    first, second = content(upstream)
    assert "First" in first["text"]
    assert "Second" in second["text"]


def test_files_are_pasted_and_dropped_and_a_dragged_text_is_left_to_the_browser(tab: Tab) -> None:
    picture = png(8, 8).decode("latin-1")
    transfer(tab, "paste", "#message", "image.png", picture, "image/png")
    expect_state(tab, "image.png")
    thumbnail = chip(tab, "image.png").locator("img")
    expect(thumbnail).to_have_js_property("naturalWidth", 8)
    transfer(tab, "dragenter", "#sidebar", "", "Some notes.", "text/plain")
    expect(tab.page.locator("html[data-dropping]")).to_have_count(0)
    transfer(tab, "drop", "#message", "", "Some notes.", "text/plain")
    overlay = tab.page.get_by_text("Drop files to attach them")
    transfer(tab, "dragenter", "#sidebar", "notes.txt", "Some notes.", "text/plain")
    expect(overlay).to_be_visible()
    transfer(tab, "drop", "#sidebar", "notes.txt", "Some notes.", "text/plain")
    expect(overlay).to_be_hidden()
    expect_state(tab, "notes.txt")
    expect(chips(tab)).to_have_count(2)
    for name, dialog in ("image.png", "Image"), ("notes.txt", "notes.txt"):
        opens = chip(tab, name).get_by_role("link", name=f"Open {name}")
        opens.press("Enter")
        expect(tab.page.get_by_role("dialog", name=dialog)).to_be_visible()
        tab.page.keyboard.press("Escape")
        expect(opens).to_be_focused()


def test_the_pages_of_a_pdf_are_shown_with_text_that_can_be_selected(tab: Tab) -> None:
    attach(tab, file("report.pdf", pdf(["Sales fell", "Costs rose"])))
    chip(tab, "report.pdf").get_by_role("link", name="Open report.pdf").click()
    dialog = tab.page.get_by_role("dialog", name="report.pdf")
    for text in ("Sales fell", "Costs rose"):
        dialog.get_by_role("heading", name="Page").last.scroll_into_view_if_needed()
        line = dialog.locator("svg text", has_text=text)
        expect(line).to_have_count(1)
        line.evaluate("line => getSelection().selectAllChildren(line)")
        assert tab.page.evaluate("getSelection().toString()") == text
    expect_accessible(tab.page)


@pytest.mark.thorough
def test_twenty_files_are_attached_at_once_and_the_next_is_refused(desk: Desk, tab: Tab) -> None:
    desk.expect_error("422")
    attach(tab, *(file(f"{number}.txt", f"Number {number}") for number in range(20)))
    expect(tab.page.locator(".chip[data-state=ready]")).to_have_count(20)
    names = chips(tab).locator(".chip-name").all_text_contents()
    assert names == [f"{number}.txt" for number in range(20)]
    attach(tab, file("more.txt"))
    expect(tab.problem).to_contain_text("“more.txt”: A message can have 20 files at most.")
    expect(chips(tab)).to_have_count(20)


def test_a_file_is_removed_by_keyboard(tab: Tab) -> None:
    attach(tab, file("one.txt"), file("two.txt"))
    expect_state(tab, "two.txt")
    tab.message.press("Shift+Tab")
    expect(button(tab, "Attach files")).to_be_focused()
    button(tab, "Remove one.txt").focus()
    tab.page.keyboard.press("Enter")
    expect(chips(tab)).to_have_count(1)
    expect(button(tab, "Remove two.txt")).to_be_focused()
    tab.page.keyboard.press("Enter")
    expect(chips(tab)).to_have_count(0)
    expect(tab.message).to_be_focused()


# ---- uploading


def test_an_upload_shows_its_progress_and_can_be_cancelled(tab: Tab) -> None:
    uploads = HeldUploads(tab)
    attach(tab, file("large.txt", "x" * (MIB + 1000)))
    expect(chip(tab, "large.txt").get_by_role("progressbar")).to_have_attribute("value", "0")
    height = chip(tab, "large.txt").bounding_box()
    uploads.until()
    uploads.release()
    expect_state(tab, "large.txt")
    after = chip(tab, "large.txt").bounding_box()
    assert height
    assert after
    assert height["height"] == after["height"]
    uploads = HeldUploads(tab)
    attach(tab, file("second.txt", "y" * (MIB + 1000)))
    button(tab, "Cancel second.txt").click()
    expect(chips(tab)).to_have_count(1)


def test_sending_waits_for_uploads_until_it_is_cancelled_or_sends_by_itself(
    tab: Tab, upstream: FakeUpstream
) -> None:
    uploads = HeldUploads(tab)
    attach(tab, file("one.txt", "First"))
    tab.message.fill("What is this?")
    waiting = tab.page.get_by_text("Waiting for 1 file…")
    for cancel in ("Escape", "Enter"):
        tab.message.press("Enter")
        expect(waiting).to_be_visible()
        tab.page.keyboard.press(cancel)
        expect(waiting).to_be_hidden()
    uploads.until()
    uploads.release()
    expect_state(tab, "one.txt")
    expect(tab.message).to_have_value("What is this?")
    assert not upstream.chat_requests

    uploads = HeldUploads(tab)
    attach(tab, file("two.txt", "Second"), file("three.txt", "Third"))
    tab.submit()
    expect(tab.page.get_by_text("Waiting for 2 files…")).to_be_visible()
    expect(tab.message).to_have_value("What is this?")
    expect_accessible(tab.page)
    uploads.until(2)
    assert not upstream.chat_requests
    uploads.release()
    tab.expect_ending("complete")
    assert len(content(upstream)) == 4


def test_a_lost_network_only_delays_an_upload_and_a_full_server_can_be_tried_again(
    desk: Desk, tab: Tab
) -> None:
    desk.expect_error("507|ERR_FAILED")
    sentence = "The server can't store files at the moment. Try again in a while."
    answers: list[Callable[[Route], None]] = [
        lambda route: route.abort(),
        lambda route: route.fulfill(status=507, body=sentence),
        lambda route: route.continue_(),
    ]
    tab.page.route(PARTS, lambda route: answers.pop(0)(route))
    attach(tab, file("notes.txt"))
    expect(chip(tab, "notes.txt")).to_contain_text(sentence)
    expect_state(tab, "notes.txt", "failed")
    tab.ask("What is this?")
    expect(tab.problem).to_contain_text("“notes.txt” can't be sent.")
    button(tab, "Try again: notes.txt").click()
    expect_state(tab, "notes.txt")


@pytest.mark.thorough
def test_a_busy_server_only_delays_an_upload(desk: Desk, tab: Tab) -> None:
    desk.expect_error("429")
    answers: list[Callable[[Route], None]] = [
        lambda route: route.fulfill(status=429, headers={"Retry-After": "1"}, body="Wait."),
        lambda route: route.continue_(),
    ]
    tab.page.route(PARTS, lambda route: answers.pop(0)(route))
    attach(tab, file("notes.txt"))
    expect_state(tab, "notes.txt")


def test_a_file_that_cannot_be_read_says_why_and_blocks_until_it_is_removed(
    tab: Tab, upstream: FakeUpstream
) -> None:
    attach(tab, file("program.bin", b"\x00\xff\xfe\x80" * 10))
    expect_state(tab, "program.bin", "failed")
    tab.ask("What is this?")
    expect(tab.problem).to_contain_text("“program.bin” can't be sent. Remove it, then send.")
    assert not upstream.chat_requests
    button(tab, "Remove program.bin").click()
    expect(chips(tab)).to_have_count(0)
    tab.message.press("Enter")
    tab.expect_ending("complete")
    assert content(upstream) == "What is this?"


@pytest.mark.thorough
def test_all_files_that_failed_are_seen_at_once(sit_down: SitDown, alice: Person, tab: Tab) -> None:
    phone = sit_down(alice, phone={"width": 390, "height": 844}).open()
    readable = [file(f"{number}.txt", f"Number {number}") for number in range(15)]
    broken = [file(f"{number}.zip", b"PK\x03\x04" + bytes(30)) for number in range(5)]
    attach(phone, *readable, *broken)
    expect(phone.page.locator(".chip[data-state=failed]")).to_have_count(5)
    expect(phone.page.locator(".chip[data-state=ready]")).to_have_count(15)
    for place in (phone, tab):
        for number in range(5):
            failed = chip(place, f"{number}.zip")
            expect(failed.locator(".chip-problem")).to_be_in_viewport(ratio=1)
            expect(failed.get_by_role("button", name="Remove")).to_be_in_viewport(ratio=1)
            expect(failed.get_by_role("button", name="Try again")).to_have_count(0)
    expect(phone.message).to_be_in_viewport(ratio=1)
    phone.page.get_by_role("button", name="Send").tap()
    expect(phone.problem).to_contain_text("5 files can't be sent. Remove them, then send.")


def test_an_upload_goes_on_after_a_reload_when_the_file_is_attached_again(tab: Tab) -> None:
    sent: list[str] = []
    uploads = HeldUploads(tab)
    attach(tab, file("large.txt", "x" * (MIB + 1000)))
    uploads.until()
    uploads.let_one_through()
    uploads.until()
    tab.reload()
    uploads.forget()
    expect(chip(tab, "large.txt")).to_contain_text("The upload was interrupted.")
    tab.page.on("request", lambda request: sent.append(request.headers.get("upload-offset", "")))
    attach(tab, file("large.txt", "x" * (MIB + 1000)))
    expect_state(tab, "large.txt")
    expect(chips(tab)).to_have_count(1)
    assert [offset for offset in sent if offset] == [str(MIB)]


@pytest.mark.thorough
def test_an_upload_goes_on_while_another_chat_is_shown(tab: Tab) -> None:
    tab.ask("Hello")
    tab.expect_ending("complete")
    uploads = HeldUploads(tab)
    attach(tab, file("notes.txt"))
    uploads.until()
    tab.page.get_by_role("link", name="New chat").first.click()
    expect(tab.page.get_by_role("heading", name="What would you like to know?")).to_be_visible()
    expect(chips(tab)).to_have_count(0)
    with tab.page.expect_response(PARTS):
        uploads.release()
    tab.page.go_back()
    expect_state(tab, "notes.txt")


@pytest.mark.thorough
def test_signing_out_ends_an_upload_and_says_so(desk: Desk, tab: Tab) -> None:
    uploads = HeldUploads(tab)
    attach(tab, file("notes.txt"))
    uploads.until()
    desk.context.clear_cookies(name="sessionid")
    uploads.release()
    expect(tab.connection).to_contain_text("signed out")


# ---- drafts


def test_the_tabs_of_a_chat_show_the_same_files(desk: Desk, tab: Tab) -> None:
    other = desk.open()
    attach(tab, file("notes.txt"))
    expect_state(other, "notes.txt")
    button(other, "Remove notes.txt").click()
    expect(chips(tab)).to_have_count(0)
    attach(other, file("more.txt"))
    expect_state(tab, "more.txt")
    tab.ask("What is this?")
    tab.expect_ending("complete")
    expect(chips(other)).to_have_count(0)


def test_files_survive_a_reload_and_a_refused_prompt(tab: Tab, upstream: FakeUpstream) -> None:
    attach(tab, file("notes.txt"))
    expect_state(tab, "notes.txt")
    tab.reload()
    expect_state(tab, "notes.txt")
    option = tab.page.locator("#model option").first
    option.evaluate("option => { option.value += '-no-more'; }")
    tab.ask("What is this?")
    expect(tab.problem).to_contain_text("no longer available")
    expect_state(tab, "notes.txt")
    expect(tab.message).to_have_value("What is this?")
    tab.reload()
    tab.message.press("Enter")
    tab.expect_ending("complete")
    assert len(content(upstream)) == 2


# ---- long pasted texts


@pytest.fixture
def pasted_tab(desk: Desk, tab: Tab) -> Tab:
    """A tab into which a long text was pasted."""
    desk.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=desk.url)
    tab.page.evaluate("text => navigator.clipboard.writeText(text)", LONG)
    tab.message.press("Control+V")
    expect_state(tab, PASTED)
    return tab


def test_a_long_paste_becomes_a_file_that_can_be_edited_and_turned_back(
    desk: Desk, pasted_tab: Tab, upstream: FakeUpstream
) -> None:
    desk.expect_error("422")
    expect(pasted_tab.message).to_have_value("")
    button(pasted_tab, f"Edit {PASTED}").click()
    editor = pasted_tab.page.get_by_role("dialog", name=PASTED).get_by_role("textbox")
    expect(editor).to_have_value(LONG)
    editor.fill("")
    button(pasted_tab, "Save").click()
    expect(pasted_tab.page.get_by_role("dialog")).to_contain_text("This file is empty.")
    editor.fill("Only this is left.")
    button(pasted_tab, "Save").click()
    expect(pasted_tab.page.get_by_role("dialog")).to_have_count(0)
    expect(chip(pasted_tab, PASTED)).to_contain_text("18")
    pasted_tab.ask("Read this")
    pasted_tab.expect_ending("complete")
    document, _ = content(upstream)
    assert "Only this is left." in document["text"]
    assert "Line 1" not in document["text"]
    pasted_tab.message.press("Control+V")
    expect_state(pasted_tab, PASTED)
    pasted_tab.message.fill("Read this:")
    button(pasted_tab, f"Edit {PASTED}").focus()
    pasted_tab.page.keyboard.press("Enter")
    expect(pasted_tab.page.get_by_role("dialog", name=PASTED)).to_be_visible()
    pasted_tab.page.keyboard.press("Tab")
    expect(button(pasted_tab, "Put into the message")).to_be_focused()
    pasted_tab.page.keyboard.press("Enter")
    expect(pasted_tab.message).to_have_value(f"Read this:\n\n{LONG}")
    expect(pasted_tab.message).to_be_focused()
    expect(chips(pasted_tab)).to_have_count(0)


@pytest.mark.thorough
def test_a_long_paste_that_is_refused_as_a_file_goes_into_the_box(desk: Desk, tab: Tab) -> None:
    desk.expect_error("422")
    tab.page.route("**/files/", lambda route: route.fulfill(status=422, body="There is no room."))
    transfer(tab, "paste", "#message", "", LONG, "text/plain")
    expect(tab.message).to_have_value(LONG)
    expect(tab.problem).to_contain_text(f"“{PASTED}”: There is no room.")


@pytest.mark.thorough
def test_a_short_paste_goes_into_the_box(pasted_tab: Tab) -> None:
    pasted_tab.page.evaluate("navigator.clipboard.writeText('A line\\nand another')")
    pasted_tab.message.press("Control+V")
    expect(pasted_tab.message).to_have_value("A line\nand another")
    expect(chips(pasted_tab)).to_have_count(1)


# ---- what it costs


@pytest.fixture
def desk_there(sit_down: SitDown, alice: Person, offering: Server) -> Desk:
    """Alice's browser, where the first model is small and takes no images."""
    return sit_down(alice, url=offering.url)


@pytest.fixture
def narrow_tab(desk_there: Desk) -> Tab:
    tab = desk_there.open()
    expect(tab.page.locator("#model option:checked")).to_have_text(SMALL)
    return tab


def test_a_pdf_too_long_for_the_model_is_sent_in_part(
    desk_there: Desk, narrow_tab: Tab, gateway: FakeUpstream
) -> None:
    desk_there.expect_error("422")
    lines = "It goes on and on and on.\n" * 60
    book = pdf([f"Page number {page}.\n{lines}" for page in range(1, 11)])
    attach(narrow_tab, file("book.pdf", book))
    expect(chip(narrow_tab, "book.pdf")).to_contain_text("10 pages")
    cost = narrow_tab.page.locator("#files-cost")
    expect(cost).to_contain_text(f"of 2,000 tokens of {SMALL}: too much to send.")
    narrow_tab.ask("Summarise")
    expect(narrow_tab.problem).to_contain_text(f"{SMALL} takes 2,000.")
    assert not gateway.chat_requests

    narrow_tab.page.get_by_role("button", name=re.compile(r"First \d pages of book.pdf")).click()
    expect(chip(narrow_tab, "book.pdf")).to_contain_text(re.compile(r"pages 1\u2013\d of 10"))
    expect(cost).not_to_contain_text("too much")

    button(narrow_tab, "Choose pages of book.pdf").click()
    pages = narrow_tab.page.get_by_role("textbox", name="Pages")
    expect(pages).to_have_value(re.compile(r"1-\d"))
    pages.fill("9-12")
    pages.press("Enter")
    expect(narrow_tab.page.get_by_role("dialog")).to_contain_text("This file has pages 1 to 10.")
    pages.fill("3-4")
    pages.press("Enter")
    expect(chip(narrow_tab, "book.pdf")).to_contain_text("pages 3\u20134 of 10")

    narrow_tab.message.press("Enter")
    narrow_tab.expect_ending("complete")
    document, prompt = content(gateway)
    assert re.findall(r"\[Page (\d+)\]", document["text"]) == ["3", "4"]
    assert re.findall(r"Page number (\d+)\.", document["text"]) == ["3", "4"]
    assert document["text"].count("It goes on and on and on.") == 120
    assert prompt["text"] == "Summarise"


def test_another_model_is_chosen_if_the_files_are_too_much_or_images(
    narrow_tab: Tab, gateway: FakeUpstream
) -> None:
    attach(narrow_tab, file("photo.png", png(8, 8)))
    expect(narrow_tab.page.get_by_text(f"{SMALL} takes no images.")).to_be_visible()
    expect(button(narrow_tab, f"Use {LARGE}")).to_be_visible()
    attach(narrow_tab, file("book.txt", "A long book. " * 1000))
    button(narrow_tab, "Choose another model").click()
    models = narrow_tab.page.get_by_role("listbox", name="Models")
    models.get_by_role("option", name=LARGE).click()
    expect(narrow_tab.page.locator("#files-cost")).to_contain_text(f"200,000 tokens of {LARGE}")
    expect(narrow_tab.page.locator("#files-images")).to_be_hidden()
    narrow_tab.ask("Summarise")
    narrow_tab.expect_ending("complete")
    assert gateway.chat_requests[-1].body["model"] == LARGE
    assert [part["type"] for part in content(gateway)] == ["image_url", "text", "text"]


@pytest.mark.thorough
def test_a_model_that_takes_images_is_chosen_by_its_button(narrow_tab: Tab) -> None:
    attach(narrow_tab, file("photo.png", png(8, 8)))
    button(narrow_tab, f"Use {LARGE}").click()
    expect(narrow_tab.page.locator("#files-images")).to_be_hidden()
    expect(narrow_tab.page.locator("#model option:checked")).to_have_text(LARGE)


# ---- on a phone


@pytest.mark.thorough
def test_chips_fit_on_a_phone(sit_down: SitDown, alice: Person) -> None:
    tab = sit_down(alice, phone={"width": 390, "height": 780}).open()
    attach(tab, *(file("a" * 90 + f"{number}.txt") for number in range(5)))
    expect(tab.page.locator(".chip[data-state=ready]")).to_have_count(5)
    assert tab.page.evaluate("document.documentElement.scrollWidth") == 390
    expect(tab.send).to_be_in_viewport(ratio=1)
    chips(tab).first.get_by_role("button", name="Remove").tap()
    expect(chips(tab)).to_have_count(4)


# ---- for everybody


def test_chips_and_their_dialogs_are_accessible(narrow_tab: Tab) -> None:
    names = ["a" * 90 + ".txt", "تقرير المبيعات.txt"]
    broken = file("program.bin", b"\x00\xff\xfe\x80" * 10)
    attach(narrow_tab, *map(file, names), broken, file("book.txt", "A long book. " * 1000))
    expect(narrow_tab.page.get_by_text("too much to send")).to_be_visible()
    expect_accessible(narrow_tab.page)
    button(narrow_tab, f"Edit {names[1]}").click()
    expect(narrow_tab.page.get_by_role("dialog", name=names[1])).to_be_visible()
    expect_accessible(narrow_tab.page)
