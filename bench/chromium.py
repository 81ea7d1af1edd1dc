"""The machine's Chromium, and its pages for the person whom the driver has signed in."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from shutil import which

from playwright.async_api import Browser as Chromium
from playwright.async_api import CDPSession, Page, async_playwright

from bench.driver import Browser

SLOWER = 4  # Chromium's developer tools use this factor to simulate a phone
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@asynccontextmanager
async def chromium() -> AsyncIterator[Chromium]:
    async with async_playwright() as playwright:
        launched = await playwright.chromium.launch(executable_path=_path())
        yield launched
        await launched.close()


def _path() -> Path:
    executable = next(filter(None, map(which, NAMES)), None)
    if not executable:
        raise RuntimeError("no Chromium is installed (looked for " + ", ".join(NAMES) + ")")
    return Path(executable)


async def signed_in_page(launched: Chromium, browser: Browser, script: str = "") -> Page:
    """Open a page with an empty cache; the script runs before any of the page's own."""
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


async def slow_down(page: Page, slower: int) -> CDPSession:
    """Slow down the page's processor by this factor; return its developer tools."""
    devtools = await page.context.new_cdp_session(page)
    await devtools.send("Emulation.setCPUThrottlingRate", {"rate": slower})
    return devtools
