"""What a reviewer does with the review's pages, by the client of a test or in a browser."""

from typing import Any
from uuid import UUID

from django.test import Client
from playwright.sync_api import Page, expect

LIST = "/review/"
REASON = "A matter of <i>somebody's</i>"


def address(conversation: UUID | str) -> str:
    return f"{LIST}{conversation}/"


def opened(client: Client, conversation: UUID, reason: str = REASON) -> Any:
    """The page of a conversation, which is opened for the reason first."""
    client.post(f"{address(conversation)}open/", {"reason": reason})
    return client.get(address(conversation))


def open_in(page: Page, url: str, conversation: str, reason: str = REASON) -> None:
    """The same in a browser."""
    page.goto(f"{url}{address(conversation)}")
    page.get_by_label("Why are you opening this chat?").fill(reason)
    page.get_by_role("button", name="Open for 30 minutes").click()
    expect(page.locator(".review-message").first).to_be_visible()
