"""The files of a thread: thumbnails, the viewer, texts of documents, and edits with files."""

import base64
import re
from collections.abc import Sequence

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.conftest import Desk, SitDown, Tab
from tests.browser.test_accessible import expect_accessible
from tests.support import pictures
from tests.support.fake_upstream import FakeUpstream, choice, delta, done, finish, role, usage
from tests.support.file_thread import File, document, image, scan, store_file_thread
from tests.support.live import Person, Server
from tests.support.profile import sample_params

SHIFT = """() => {
  window.shift = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.shift += entry.value;
  }).observe({type: "layout-shift"});
}"""
DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
GREEN, BLUE = b"\x20\x80\x60", b"\x20\x40\xc0"
SKY = image("sky.png", 1600, 1200)
SEA = image("sea.png", 400, 3000, BLUE)
FIELD = image("field.png", 3000, 400, GREEN)
REPORT = document("report.pdf", *(f"Text of page {number}." for number in range(1, 13)))


def boxes(page: Page) -> Sequence[object]:
    rectangles: list[object] = page.evaluate(
        "[...document.querySelectorAll('.files img')].map((one) => one.getBoundingClientRect())"
    )
    return rectangles


def viewer(tab: Tab) -> Locator:
    return tab.page.get_by_role("dialog", name="Image")


def find_shown_image(tab: Tab) -> Locator:
    return tab.page.locator("#viewer .stage img")


def expect_shown(tab: Tab, name: str, place: str) -> None:
    expect(viewer(tab)).to_contain_text(f"{name} {place}")
    expect(find_shown_image(tab)).to_have_attribute("alt", name)
    expect(find_shown_image(tab)).to_have_js_property("complete", True)


def measure_width(tab: Tab) -> float:
    return float(find_shown_image(tab).evaluate("image => image.getBoundingClientRect().width"))


def link(tab: Tab, name: str) -> Locator:
    return tab.page.get_by_role("link", name=name)


# Thumbnails


def test_nothing_moves_when_thumbnails_load(desk: Desk, server: Server, alice: Person) -> None:
    path = store_file_thread(
        server, alice, ("Look", [SKY]), ("And", [SEA, FIELD, scan("scan.pdf", 2)])
    )
    routes: list[Route] = []
    desk.context.route(re.compile("/(thumbnail|page/0)/$"), lambda route: routes.append(route))
    tab = desk.open(path)
    tab.page.evaluate(SHIFT)
    tab.page.wait_for_function("() => document.querySelectorAll('.files img').length === 4")
    before = boxes(tab.page)
    expect(tab.page.locator(".files img").first).to_have_js_property("complete", False)
    for route in routes:
        route.continue_()
    desk.context.unroute_all()
    for number in range(4):
        image = tab.page.locator(".files img").nth(number)
        image.scroll_into_view_if_needed()
        expect(image).to_have_js_property("complete", True)
    tab.page.locator("#scroller").evaluate("scroller => scroller.scrollTo(0, 1e6)")
    tab.page.evaluate(DRAWN)
    assert [(box["width"], box["height"]) for box in boxes(tab.page)] == [  # type: ignore[index]
        (box["width"], box["height"])  # type: ignore[index]
        for box in before
    ]
    assert tab.page.evaluate("window.shift") == 0


# The viewer


def test_images_are_viewed_by_keyboard(desk: Desk, server: Server, alice: Person) -> None:
    tab = desk.open(
        store_file_thread(server, alice, ("Look", [SKY, SEA]), ("And", [REPORT, FIELD]))
    )
    link(tab, "sky.png").focus()
    tab.page.keyboard.press("Enter")
    expect_shown(tab, "sky.png", "1 of 3")
    for key, name, place in (
        ("ArrowRight", "sea.png", "2 of 3"),
        ("ArrowRight", "field.png", "3 of 3"),
        ("ArrowRight", "sky.png", "1 of 3"),
        ("ArrowLeft", "field.png", "3 of 3"),
    ):
        tab.page.keyboard.press(key)
        expect_shown(tab, name, place)
    fitting = measure_width(tab)
    assert fitting <= 1280
    tab.page.keyboard.press("+")
    assert measure_width(tab) == pytest.approx(1.5 * fitting, rel=0.01)
    tab.page.keyboard.press("-")
    assert measure_width(tab) == pytest.approx(fitting, rel=0.01)
    for _ in range(20):
        tab.page.keyboard.press("+")
    assert measure_width(tab) == pytest.approx(8 * fitting, rel=0.01)
    tab.page.keyboard.press("ArrowRight")  # moves within the image while it is zoomed
    expect_shown(tab, "field.png", "3 of 3")
    tab.page.keyboard.press("0")
    assert measure_width(tab) == pytest.approx(fitting, rel=0.01)
    tab.page.keyboard.press("Escape")
    expect(viewer(tab)).to_be_hidden()
    expect(link(tab, "sky.png")).to_be_focused()


@pytest.mark.thorough
def test_an_image_is_zoomed_and_dragged_by_mouse(desk: Desk, server: Server, alice: Person) -> None:
    tab = desk.open(store_file_thread(server, alice, ("Look", [SKY])))
    link(tab, "sky.png").click()
    expect_shown(tab, "sky.png", "")
    expect(viewer(tab).get_by_role("button", name="Next image")).to_be_hidden()
    fitting = measure_width(tab)
    viewer(tab).get_by_role("button", name="Zoom in").click()
    assert measure_width(tab) > fitting
    viewer(tab).get_by_role("button", name="Fit to window").click()
    assert measure_width(tab) == fitting
    for _ in range(4):
        tab.page.keyboard.press("+")
    at = find_shown_image(tab).bounding_box()
    assert at
    x, y = 200, 300
    tab.page.mouse.move(x, y)
    tab.page.mouse.wheel(0, -100)
    tab.page.wait_for_function(
        "width => document.querySelector('.stage img').offsetWidth > width", arg=at["width"] + 1
    )
    zoomed = find_shown_image(tab).bounding_box()
    assert zoomed
    # The point under the pointer stays where it is.
    for place, start, side in ((x, "x", "width"), (y, "y", "height")):
        shares = [(place - box[start]) / box[side] for box in (at, zoomed)]  # type: ignore[literal-required]
        assert shares[1] == pytest.approx(shares[0], abs=0.002)
    tab.page.mouse.down()
    tab.page.mouse.move(x + 50, y + 30, steps=5)
    tab.page.mouse.up()
    tab.page.evaluate(DRAWN)
    dragged = find_shown_image(tab).bounding_box()
    assert dragged
    assert dragged["x"] - zoomed["x"] == pytest.approx(50, abs=1)
    assert dragged["y"] - zoomed["y"] == pytest.approx(30, abs=1)
    with tab.page.expect_download() as download:
        viewer(tab).get_by_role("link", name="Download").click()
    assert download.value.suggested_filename == "sky.png"


def test_a_description_is_kept_until_it_is_saved_and_is_what_others_hear(
    desk: Desk, server: Server, alice: Person
) -> None:
    tab = desk.open(store_file_thread(server, alice, ("Look", [SKY, SEA])))
    link(tab, "sky.png").click()
    desk.expect_error("ERR_FAILED|Failed to load")
    desk.context.route(re.compile("/describe/$"), lambda route: route.abort(), times=1)
    viewer(tab).get_by_text("Describe this image").click()
    box = viewer(tab).get_by_role("textbox")
    box.fill("A sky + a 0")
    viewer(tab).get_by_role("button", name="Save").click()
    expect(viewer(tab).get_by_role("status")).to_contain_text("could not be saved")
    expect(box).to_have_value("A sky + a 0")
    box.press("ArrowLeft")  # moves the caret, not to another image
    box.press("Enter")
    expect(viewer(tab).get_by_role("status")).to_have_text("Saved.")
    tab.page.keyboard.press("Escape")
    expect(link(tab, "A sky + a 0")).to_be_focused()
    tab.reload()
    link(tab, "A sky + a 0").click()
    expect(find_shown_image(tab)).to_have_attribute("alt", "A sky + a 0")
    expect(viewer(tab)).to_contain_text("sky.png")


def test_images_of_replies_open_in_the_same_viewer(tab: Tab, upstream: FakeUpstream) -> None:
    data = base64.b64encode(pictures.png(40, 30)).decode()
    url = {"image_url": {"url": f"data:image/png;base64,{data}"}}
    upstream.script(role(), delta("Here."), choice({"images": [url]}), finish(), usage(), done())
    tab.ask("Draw it")
    tab.expect_ending("complete")
    link(tab, "Image 1 of this reply").click()
    expect(find_shown_image(tab)).to_have_js_property("naturalWidth", 40)
    expect(viewer(tab).get_by_text("Describe this image")).to_be_hidden()
    tab.page.keyboard.press("Escape")
    expect(viewer(tab)).to_be_hidden()


@pytest.mark.thorough
def test_two_fingers_zoom_an_image(sit_down: SitDown, server: Server, alice: Person) -> None:
    desk = sit_down(alice, phone={"width": 390, "height": 800})
    tab = desk.open(store_file_thread(server, alice, ("Look", [SKY, SEA])))
    link(tab, "sky.png").tap()
    expect_shown(tab, "sky.png", "1 of 2")
    fitting = measure_width(tab)
    session = desk.context.new_cdp_session(tab.page)
    for kind, apart in (("touchStart", 50), ("touchMove", 100), ("touchEnd", 0)):
        points = [{"x": 195 - apart, "y": 400}, {"x": 195 + apart, "y": 400}] if apart else []
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    assert measure_width(tab) == pytest.approx(2 * fitting, rel=0.02)


# Documents


def find_document_text(tab: Tab) -> Locator:
    return tab.page.locator("#document-text")


def test_a_document_opens_as_text_and_gives_the_focus_back(
    desk: Desk, server: Server, alice: Person
) -> None:
    tab = desk.open(store_file_thread(server, alice, ("Read", [REPORT, scan("scan.pdf", 2)])))
    link(tab, "report.pdf").focus()
    tab.page.keyboard.press("Enter")
    dialog = tab.page.get_by_role("dialog", name="report.pdf")
    expect(dialog).to_contain_text("PDF · 12 pages")
    expect(dialog).to_contain_text("Page 12Text of page 12.")
    with tab.page.expect_download() as download:
        dialog.get_by_role("link", name="Download").click()
    assert download.value.suggested_filename == "report.pdf"
    tab.page.keyboard.press("Escape")
    expect(tab.page.locator("#document")).to_have_count(0)
    expect(link(tab, "report.pdf")).to_be_focused()
    link(tab, "scan.pdf").click()
    for name in ("Page 1", "Page 2"):
        page = tab.page.get_by_role("img", name=name)
        page.scroll_into_view_if_needed()
        expect(page).to_have_js_property("naturalWidth", 300)


@pytest.mark.thorough
def test_a_text_of_two_million_characters_comes_as_it_is_scrolled(
    desk: Desk, server: Server, alice: Person
) -> None:
    text = "".join(f"line {number:06} of a very long log\n" for number in range(70_000))
    assert len(text) > 2_000_000
    long = document("log.txt", text, unit="", label="Text")
    tab = desk.open(store_file_thread(server, alice, ("Read", [long])))
    tab.page.evaluate("""() => {
      window.longest = 0;
      new PerformanceObserver((list) => {
        for (const {duration} of list.getEntries()) window.longest = Math.max(longest, duration);
      }).observe({type: "longtask"});
    }""")
    link(tab, "log.txt").click()
    expect(find_document_text(tab)).to_contain_text("line 000000 of")
    length = len(find_document_text(tab).inner_text())
    assert length < 200_000
    find_document_text(tab).evaluate("one => one.scrollTo(0, 1e9)")
    tab.page.wait_for_function(
        "length => document.getElementById('document-text').textContent.length > length", arg=length
    )
    assert tab.page.evaluate("window.longest") < 1000


@pytest.mark.parametrize("address", sample_params(["/text/$", "/files/viewer/$"]))
def test_a_file_that_cannot_be_loaded_says_so_and_can_be_tried_again(
    desk: Desk, server: Server, alice: Person, address: str
) -> None:
    tab = desk.open(store_file_thread(server, alice, ("Look", [SKY, REPORT])))
    name = "report.pdf" if "text" in address else "sky.png"
    desk.expect_error("404|ERR_FAILED|Failed to fetch|htmx:error")
    desk.context.route(re.compile(address), lambda route: route.fulfill(status=404))
    link(tab, name).click()
    expect(tab.page.locator("#toast")).to_contain_text("couldn't be loaded")
    desk.context.unroute_all()
    desk.context.route(re.compile(address), lambda route: route.abort())
    with tab.page.expect_event("requestfailed"):
        link(tab, name).click()
    desk.context.unroute_all()
    link(tab, name).dblclick()
    expect(tab.page.locator("dialog[open]")).to_have_count(1)
    tab.page.keyboard.press("Escape")
    expect(tab.page.locator("dialog[open]")).to_have_count(0)


@pytest.mark.thorough
def test_a_viewer_closes_when_the_chat_is_left(desk: Desk, server: Server, alice: Person) -> None:
    tab = desk.open()
    path = store_file_thread(server, alice, ("Look", [SKY]))
    tab.reload()
    tab.sidebar.get_by_role("link", name="With files").click()
    link(tab, "sky.png").click()
    expect_shown(tab, "sky.png", "")
    tab.page.go_back()
    expect(viewer(tab)).to_be_hidden()
    expect(tab.page).not_to_have_url(re.compile(path))


# Editing


def editor(tab: Tab) -> Locator:
    return tab.page.locator(".editor")


def chips(tab: Tab) -> Locator:
    return editor(tab).get_by_role("listitem")


def test_a_prompt_is_edited_with_some_of_its_files(
    desk: Desk, server: Server, alice: Person, upstream: FakeUpstream
) -> None:
    tab = desk.open(store_file_thread(server, alice, ("Read", [REPORT, SEA, FIELD])))
    tab.page.locator(".prompt").hover()
    tab.page.get_by_role("button", name="Edit prompt").click()
    expect(chips(tab)).to_have_text(["report.pdf", "sea.png", "field.png"])
    editor(tab).get_by_role("button", name="Remove sea.png").click()
    expect(editor(tab).get_by_role("button", name="Remove field.png")).to_be_focused()
    tab.page.keyboard.press("Enter")
    expect(chips(tab)).to_have_text(["report.pdf"])
    tab.reload()  # keeps what was edited
    expect(chips(tab)).to_have_text(["report.pdf"])
    editor(tab).get_by_role("textbox").fill("Read only this")
    editor(tab).get_by_role("button", name="Save").click()
    expect(tab.page.locator(".prompt .siblings")).to_contain_text("2 / 2")
    tab.expect_ending("complete")
    expect(tab.page.locator(".files > li")).to_have_count(1)
    [message] = upstream.chat_requests[-1].body["messages"]
    assert [part["type"] for part in message["content"]] == ["text", "text"]
    assert "Text of page 12." in message["content"][0]["text"]
    tab.page.get_by_role("button", name="Previous version").click()
    expect(tab.page.locator(".files > li")).to_have_count(3)


@pytest.mark.thorough
def test_a_prompt_of_files_alone_can_lose_its_text_but_not_all(
    desk: Desk, server: Server, alice: Person, upstream: FakeUpstream
) -> None:
    tab = desk.open(
        store_file_thread(server, alice, ("", [document("notes.txt", "Green", unit="")]))
    )
    expect(tab.page.locator(".prompt .bubble")).to_have_count(0)
    tab.page.locator(".prompt").hover()
    tab.page.get_by_role("button", name="Edit prompt").click()
    editor(tab).get_by_role("button", name="Remove notes.txt").click()
    expect(editor(tab).get_by_role("textbox")).to_be_focused()
    editor(tab).get_by_role("button", name="Save").click()
    expect(editor(tab)).to_be_visible()
    editor(tab).get_by_role("button", name="Cancel").click()
    tab.page.get_by_role("button", name="Edit prompt").click()
    expect(chips(tab)).to_have_text(["notes.txt"])
    editor(tab).get_by_role("button", name="Save").click()
    expect(tab.page.locator(".prompt .siblings")).to_contain_text("2 / 2")
    assert not upstream.chat_requests or "Green" in str(upstream.chat_requests[-1].body)


# Everything, everywhere


def test_files_are_accessible_and_fit(desk: Desk, server: Server, alice: Person) -> None:
    long = document(f"{'A very long name ' * 6}.pdf", "Text", size=1_234_567)
    files: list[File] = [SEA, FIELD, long, scan("scan.pdf", 2)]
    tab = desk.open(store_file_thread(server, alice, ("Look", [SKY]), ("", files)))
    expect_accessible(tab.page)
    link(tab, "sky.png").click()
    expect_shown(tab, "sky.png", "1 of 3")
    viewer(tab).get_by_text("Describe this image").click()
    expect_accessible(tab.page)
    tab.page.keyboard.press("Escape")
    link(tab, "A very long name").click()
    expect(find_document_text(tab)).to_contain_text("Text")
    expect_accessible(tab.page)
    tab.page.keyboard.press("Escape")
    tab.page.locator(".prompt").last.hover()
    tab.page.get_by_role("button", name="Edit prompt").last.click()
    expect_accessible(tab.page)
    editor(tab).get_by_role("button", name="Cancel").click()
    with desk.context.expect_page() as opened:
        link(tab, "A very long name").click(modifiers=["Control"])
    expect(opened.value.get_by_role("heading", name="Page 1")).to_be_visible()
    expect_accessible(opened.value)


@pytest.mark.thorough
def test_files_fit_on_a_phone(sit_down: SitDown, server: Server, alice: Person) -> None:
    long = document(f"{'A very long name ' * 6}.pdf", "Text", size=1_234_567)
    desk = sit_down(alice, phone={"width": 390, "height": 800})
    named = image(f"{'A long name for an image ' * 4}.png", 300, 200, GREEN)
    tab = desk.open(
        store_file_thread(server, alice, ("", [named, SEA, FIELD, long]), ("Look", [SKY]))
    )
    assert tab.page.evaluate("document.documentElement.scrollWidth") == 390
    link(tab, "A very long name").tap()
    expect(tab.page.locator("#document")).to_have_js_property("scrollWidth", 390)
    tab.page.get_by_role("button", name="Close").tap()
    link(tab, "A long name for an image").tap()
    expect(viewer(tab)).to_have_js_property("scrollWidth", 390)
    viewer(tab).get_by_role("button", name="Next image").tap()
    viewer(tab).get_by_role("button", name="Next image").tap()
    expect_shown(tab, "field.png", "3 of 4")
    assert measure_width(tab) == 390
    for name in ("Close", "Download", "Next image", "Previous image"):
        target = (
            viewer(tab)
            .get_by_role("button", name=name)
            .or_(viewer(tab).get_by_role("link", name=name))
        )
        expect(target).to_be_in_viewport(ratio=1)
        box = target.bounding_box()
        assert box
        assert min(box["width"], box["height"]) >= 40
    viewer(tab).get_by_role("button", name="Close").tap()
    tab.page.get_by_role("button", name="Edit prompt").first.tap()
    assert tab.page.evaluate("document.documentElement.scrollWidth") == 390
