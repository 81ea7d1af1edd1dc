"""The bytes of bodies that the chat page transfers on a first visit."""

from playwright.async_api import Page, Response

from bench.chromium import chromium, signed_in_page
from bench.driver import Browser
from bench.server import serving
from bench.table import Row

BAR_KB = 52.0
IDLE_MS = 1000  # by then everything that loads by itself has begun to


async def measure(quick: bool) -> list[Row]:
    with serving() as server:
        async with Browser.signed_in(server) as browser, chromium() as launched:
            page = await signed_in_page(launched, browser)
            sizes = await _sizes(page, f"http://{server.host}/")
    total = sum(sizes.values()) / 1000
    largest = max(sizes, key=lambda path: sizes[path]).rpartition("/")[2]
    figure = f"everything the chat page loads: {len(sizes)} files"
    measured = f"{total:.1f} KB (page {sizes['/'] / 1000:.1f}, {largest} the largest)"
    return [Row(figure, measured, f"≤ {BAR_KB:g} KB", total <= BAR_KB)]


async def _sizes(page: Page, url: str) -> dict[str, int]:
    """Return the bytes of each body as transferred, for the page and everything it loads."""
    answers: list[Response] = []
    page.on("response", lambda answer: answers.append(answer))
    await page.goto(url)
    await page.wait_for_selector("#app[data-connection=open]")
    await page.wait_for_timeout(IDLE_MS)
    sizes: dict[str, int] = {}
    for answer in answers:
        if answer.status != 200:
            raise RuntimeError(f"{answer.url} is loaded by the page and answers {answer.status}")
        length = await answer.header_value("content-length")
        sizes[f"/{answer.url.removeprefix(url)}"] = int(length or 0)
    return sizes
