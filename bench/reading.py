"""Readers of a shared chat."""

import re

from bench.driver import INPUT, Browser, Tab
from bench.websocket import open_websocket

_LINK = re.compile(r'value="http://[^/]+(/s/[^"]+)"')


async def share_live(browser: Browser, path: str) -> str:
    """Share the conversation live with everyone who signs in; return the link's path."""
    address = f"{path}share/"
    page = (await browser.client.get(address)).raise_for_status().text
    fields = dict(INPUT.findall(page)) | {"who": "everyone", "live": "on", "days": "7"}
    origin = {"Origin": str(browser.client.base_url).rstrip("/")}
    answer = await browser.client.post(address, data=fields, headers=origin)
    match = _LINK.search(answer.raise_for_status().text)
    if match is None:
        raise RuntimeError("the chat was not shared")
    return match[1]


async def open_reader(browser: Browser, link: str) -> Tab:
    """Load the readers' page, and open its socket."""
    page = (await browser.client.get(link)).raise_for_status().text
    match = re.search(r'data-head="([^"]+)" data-ending="([^"]*)"', page)
    if match is None:
        raise RuntimeError("the page has no messages")
    tab = Tab({})
    cookies = {cookie.name: cookie.value for cookie in browser.client.cookies.jar}
    tab.socket = await open_websocket(
        browser.client.base_url.netloc.decode(),
        f"/ws{link}?head={match[1]}&ending={match[2]}",
        "; ".join(f"{name}={value}" for name, value in cookies.items()),
        tab.receive,
    )
    browser.tabs.append(tab)
    return tab
