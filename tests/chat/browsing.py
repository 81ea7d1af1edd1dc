"""A tab with a page: it loads the page, swaps in frames, and presses the page's buttons."""

import json
import re
from contextlib import suppress
from urllib.parse import parse_qsl, urlsplit
from uuid import uuid4

from django.test import AsyncClient

from tests.support.page import Element, Page
from tests.support.tab import Tab

ShownMessages = list[tuple[str, str, str, str]]  # each message's id, text, ending and place
OUT_OF_DATE = "This page is out of date"
RANDOM_ID = re.compile(r", &quot;prompt&quot;: &quot;[^&]*&quot;")  # the id of a continuation


def read_messages(page: Page) -> ShownMessages:
    """Return the messages of a page, as a person reads them."""
    messages = []
    for element in page.root.find(id="messages").walk():
        attributes = element.attributes
        if pk := attributes.get("data-reply") or attributes.get("data-message"):
            texts = [part.text for part in element.find_all(class_="typed")]
            texts += [part.text for part in element.find_all(data_region="answer")]
            places = [part.text for part in element.find_all(class_="siblings")]
            ending = attributes.get("data-ending", "")
            messages.append((pk, "".join(texts).strip(), ending, "".join(places)))
    return messages


def read_html(page: Page) -> dict[str, str]:
    """Return the HTML of each finished message by its id, without the random ids of each page."""
    html_by_id = {}
    for element in page.root.find(id="messages").walk():
        attributes = element.attributes
        pk = attributes.get("data-reply") or attributes.get("data-message")
        if pk and attributes.get("data-ending") != "streaming":
            html = RANDOM_ID.sub("", element.html)
            html_by_id[pk] = " ".join(html.split())
    return html_by_id


class Browsing:
    """One tab of the person who is signed in with `client`."""

    def __init__(self, client: AsyncClient) -> None:
        self.client = client
        self.page = Page("<p></p>")
        self._tab: Tab | None = None

    async def open(self, path: str = "/") -> None:
        """Load a page and open its socket."""
        await self.close()
        self.page = Page((await self.client.get(path)).content.decode())
        query = dict(parse_qsl(urlsplit(self.page.socket_url).query))
        self._tab = Tab(self.client, **query)
        assert await self._tab.connect()

    async def close(self) -> None:
        if self._tab:
            await self._tab.close()
        self._tab = None

    async def send(self, **fields: object) -> None:
        assert self._tab
        await self._tab.send(**self.page.form() | fields)

    async def ask(self, text: str, **fields: object) -> None:
        await self.send(message=text, prompt=str(uuid4()), **fields)

    async def press(self, button: Element, **fields: object) -> None:
        await self.send(**json.loads(button.attributes["hx-vals"]) | fields)

    async def until_done(self) -> None:
        """Wait until everything sent has been acted on, successfully or not."""
        assert self._tab
        await self._tab.send(action="no such action")
        await self._tab.until(OUT_OF_DATE)
        self._swap()

    async def until_ended(self) -> None:
        """Wait until the reply has ended."""
        assert self._tab
        await self._tab.until_ended()
        self._swap()

    async def swap_frames(self) -> None:
        """Swap in the frames that have arrived."""
        assert self._tab
        while not await self._tab.hears_nothing(0.005):
            await self._tab.until("")
        self._swap()

    def _swap(self) -> None:
        assert self._tab
        for frame in self._tab.frames:
            self.page.swap(frame)
        self._tab.frames.clear()

    @property
    def shown_messages(self) -> ShownMessages:
        return read_messages(self.page)

    def buttons(self, action: str) -> list[Element]:
        """Return the page's buttons that send this action."""
        matches = []
        for element in self.page.root.find_all("button"):
            with suppress(KeyError):
                if json.loads(element.attributes["hx-vals"])["action"] == action:
                    matches.append(element)
        return matches
