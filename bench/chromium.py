"""The machine's Chromium, and pages in it of whoever the driver has signed in."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from shutil import which

from playwright.async_api import Browser as Chromium
from playwright.async_api import CDPSession, Page, async_playwright

from bench.driver import Browser

SLOWER = 4  # as many times as Chromium's own tools make of this machine a phone
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@asynccontextmanager
async def chromium() -> AsyncIterator[Chromium]:
    async with async_playwright() as playwright:
        launched = await playwright.chromium.launch(executable_path=_path())
        yield launched
        await launched.close()


def _path() -> Path:
    found = next(filter(None, map(which, NAMES)), None)
    if not found:
        raise RuntimeError("no Chromium is installed (looked for " + ", ".join(NAMES) + ")")
    return Path(found)


async def signed_in_page(launched: Chromium, browser: Browser, script: str = "") -> Page:
    """A page with nothing cached; the script runs before any of the page's own."""
    url = f"http://{browser.server.host}"
    context = await launched.new_context(viewport={"width": 1280, "height": 800})
    await context.add_cookies(
        [
            {"name": name, "value": value, "url": url}
            for name, value in browser.client.cookies.items()
        ]
    )
    if script:
        await context.add_init_script(script)
    return await context.new_page()


async def slowed(page: Page, slower: int) -> CDPSession:
    """The page's developer tools, on a processor that is so many times as slow."""
    devtools = await page.context.new_cdp_session(page)
    await devtools.send("Emulation.setCPUThrottlingRate", {"rate": slower})
    return devtools
