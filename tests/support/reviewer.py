"""Actions of a reviewer on the review pages, through a test client or in a browser."""

from typing import Any
from uuid import UUID

from django.test import Client
from playwright.sync_api import Page, expect

from tests.support.page import Element, parse

LIST = "/review/"
REASON = "A matter of <i>somebody's</i>"


def address(conversation: UUID | str) -> str:
    return f"{LIST}{conversation}/"


def rows_in(page: str) -> list[Element]:
    """Return the rows of a list."""
    lists = parse(page).find_all("ul", class_="review-list")
    return [row for listing in lists for row in listing.elements]


def list_keys(page: str) -> list[str]:
    """Return the keys of the conversations in a list."""
    return [row.find("a").attributes["href"].split("/")[2] for row in rows_in(page)]


def open_for_review(client: Client, conversation: UUID, reason: str = REASON) -> Any:
    """Open a conversation for the reason, and return its page."""
    client.post(f"{address(conversation)}open/", {"reason": reason})
    return client.get(address(conversation))


def open_in(page: Page, url: str, conversation: str, reason: str = REASON) -> None:
    """Open a conversation for the reason in a browser."""
    page.goto(f"{url}{address(conversation)}")
    page.get_by_label("Why are you opening this chat?").fill(reason)
    page.get_by_role("button", name="Open for 30 minutes").click()
    expect(page.locator(".review-message").first).to_be_visible()
