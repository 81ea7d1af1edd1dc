"""A chat that outgrows its model: the meter, the offers after a refusal, and a summary."""

from playwright.sync_api import Page, expect

from tests.browser.conftest import SitDown, Tab
from tests.browser.test_accessible import expect_accessible, violations
from tests.support.fake_upstream import FakeUpstream, Pause, Step, delta, done, finish, role, usage
from tests.support.live import Person, Server

TOO_LONG = "This model's maximum context length is 2000 tokens. Please reduce the length."
SUMMARY = "We spoke about the sky."


def build_steps(text: str, prompt_tokens: int = 200, tokens: int = 100) -> list[Step]:
    return [role(), delta(text), finish(), usage(prompt_tokens, tokens), done()]


def talk(tab: Tab, upstream: FakeUpstream) -> None:
    for number, (text, tokens) in enumerate([("One", 200), ("Two", 800)]):
        upstream.script(*build_steps(f"{text} it is", tokens))
        tab.ask(f"Say {text}")
        expect(tab.page.locator("article[data-ending=complete]")).to_have_count(number + 1)


def is_grey(page: Page, text: str) -> bool:
    muted = "element => getComputedStyle(element).color"
    line = page.locator("[data-cut] span").first.evaluate(muted)
    return bool(page.locator("#messages").get_by_text(text, exact=True).evaluate(muted) == line)


def test_after_a_refusal_the_oldest_turns_are_left_out_by_keyboard_and_sent_again(
    sit_down: SitDown, alice: Person, offering: Server, gateway: FakeUpstream
) -> None:
    tab = sit_down(alice, url=offering.url).open()
    page, meter = tab.page, tab.page.locator("#context-meter")
    maximum = page.get_by_role("complementary", name="Chat settings").get_by_label("Maximum output")
    page.get_by_role("button", name="Chat settings").click()
    maximum.fill("600")
    expect(meter).to_have_text("30%")
    maximum.fill("")
    expect(meter).to_be_hidden()
    page.keyboard.press("Escape")
    talk(tab, gateway)
    expect(meter).to_have_text("45%")
    meter.press("Enter")
    details = page.get_by_role("dialog", name="Context of alpha")
    expect(details).to_contain_text("About 900 of 2,000 tokens")
    expect(details).to_contain_text("This chat so far")
    expect_accessible(page, ["wide"])
    page.keyboard.press("Escape")
    expect(details).to_be_hidden()
    expect(meter).to_be_focused()
    page.get_by_role("button", name="Chat settings").click()
    for tokens, percent in (("400", "65%"), ("", "45%")):
        maximum.fill(tokens)
        maximum.press("Tab")
        expect(meter).to_have_text(percent)
    page.keyboard.press("Escape")
    tab.message.fill("x" * 3000)
    note = page.get_by_role("group", name="Context")
    expect(note).to_contain_text("fills about 83% of the context of alpha")
    tab.message.fill("")
    expect(note).to_be_hidden()

    gateway.fail(400, {"error": {"message": TOO_LONG}})
    tab.ask("Say Three")
    tab.expect_ending("failed")
    offer = tab.reply.get_by_role("button", name="Leave out the oldest turns")
    offer.press("Enter")
    again = page.get_by_role("button", name="Send it again")
    expect(again).to_be_focused()
    expect(page.get_by_text("Not sent to the model: everything above")).to_be_visible()
    assert is_grey(page, "Say One")
    assert is_grey(page, "One it is")
    assert not is_grey(page, "Say Two")
    expect_accessible(page)

    gateway.script(*build_steps("Three it is"))
    tab.reply.get_by_role("button", name="Retry").press("Enter")
    tab.expect_ending("complete")
    contents = [message["content"] for message in gateway.chat_requests[-1].body["messages"]]
    assert contents == ["Say Two", "Two it is", "Say Three"]

    again.press("Enter")
    expect(again).to_have_count(0)
    expect(tab.message).to_be_focused()
    gateway.script(*build_steps("Four it is"))
    tab.ask("Say Four")
    tab.expect_ending("complete")
    assert "Say One" in str(gateway.chat_requests[-1].body)


def test_a_summary_is_written_edited_and_taken_along_on_a_phone(
    sit_down: SitDown, alice: Person, offering: Server, gateway: FakeUpstream
) -> None:
    desk = sit_down(alice, url=offering.url, viewport={"width": 390, "height": 844})
    tab = desk.open()
    page = tab.page
    talk(tab, gateway)
    tab.message.fill("x" * 3200)
    note = page.get_by_role("group", name="Context")
    writing, remaining = Pause(), Pause()
    first, *others = SUMMARY.split(" ")
    gateway.script(
        role(), delta(first), writing, delta(f" {' '.join(others)}"), remaining, finish(), done()
    )
    note.get_by_role("button", name="Summarise the oldest turns…").click()
    sheet = page.get_by_role("dialog", name="Choose a model")
    sheet.get_by_role("option", name="beta").click()
    progress = page.get_by_role("status").filter(has_text="beta is writing a summary")
    expect(progress).to_contain_text("(1 word)")
    progress.get_by_role("button", name="Cancel").focus()
    writing.release()
    expect(progress).to_contain_text("(5 words)")
    expect(progress.get_by_role("button", name="Cancel")).to_be_focused()
    page.reload()
    expect(progress).to_contain_text("(5 words)")
    remaining.release()
    summary = page.get_by_role("region", name="Not sent to the model")
    expect(summary).to_contain_text("Summary by beta")
    expect(summary).to_contain_text(SUMMARY)
    assert gateway.chat_requests[-1].body["model"] == "beta"
    summary.get_by_text("Edit", exact=True).click()
    box = summary.get_by_role("textbox", name="Summary")
    expect(box).to_have_value(SUMMARY)
    assert violations(page) == []
    box.fill("We spoke about numbers.")
    summary.get_by_role("button", name="Save summary").click()
    expect(summary).to_contain_text("edited by you")
    expect(tab.message).to_have_value("x" * 3200)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    summary.get_by_role("button", name="Send it again").press("Enter")
    region = page.get_by_role("region", name="Summary")
    region.get_by_text("Summary by beta, edited by you").click()
    expect(region).to_contain_text("We spoke about numbers.")
    expect(page.locator("[data-cut]")).to_have_count(0)
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    region.get_by_role("button", name="Send the summary instead").press("Enter")
    expect(summary.get_by_role("button", name="Send it again")).to_be_focused()

    tab.message.fill("x" * 6400)
    gateway.script(*build_steps("All that."))
    note.get_by_role("button", name="New chat with a summary…").click()
    sheet.get_by_role("option", name="beta").click()
    expect(page).to_have_title("Say One (continued) · chatapp")
    expect(page.get_by_role("region", name="Summary")).to_contain_text("All that.")
    assert "We spoke about numbers." in str(gateway.chat_requests[-1].body)
    gateway.script(*build_steps("Here."))
    tab.ask("Where are we?")
    tab.expect_ending("complete")
    first, *_, prompt = gateway.chat_requests[-1].body["messages"]
    assert first["content"].endswith("All that.")
    assert prompt["content"] == "Where are we?"
