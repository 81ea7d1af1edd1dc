"""An empty chat stays where it is while the composer grows."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import SitDown, Tab
from tests.browser.test_attaching import attach, chips, expect_state, file
from tests.support.live import Person


def top_of_greeting(tab: Tab) -> float:
    top: float = tab.page.get_by_role("heading", name="What would you like to know?").evaluate(
        "(heading) => heading.getBoundingClientRect().top"
    )
    return top


@pytest.mark.parametrize("width", [1280, 390])
def test_the_greeting_stays_while_files_and_text_are_added(
    sit_down: SitDown, alice: Person, width: int
) -> None:
    tab = sit_down(alice, viewport={"width": width, "height": 800}).open()
    before = top_of_greeting(tab)
    attach(tab, file("notes.md"))
    expect_state(tab, "notes.md")
    assert abs(top_of_greeting(tab) - before) <= 1
    tab.message.fill("One\nTwo\nThree")
    assert abs(top_of_greeting(tab) - before) <= 1
    tab.page.get_by_role("button", name="Remove notes.md").click()
    expect(chips(tab)).to_have_count(0)
    assert abs(top_of_greeting(tab) - before) <= 1
