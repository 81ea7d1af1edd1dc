"""What the chat page loads on a first visit, as many bytes as cross the network in bodies."""

import re
from urllib.parse import urljoin

from bench.driver import Browser
from bench.server import serving
from bench.table import Row

BAR_KB = 40.0
ACCEPT_ENCODING = "gzip, deflate, br, zstd"

_LOADED = re.compile(
    r'<(?:script\b[^>]* src|link\b[^>]* rel="(?:stylesheet|icon|modulepreload)"[^>]* href'
    r'|link\b[^>]* href|img\b[^>]* src)="([^"]+)"'
)
_IMPORTED = re.compile(
    r"""(?:\bfrom|\bimport)\s*\(?["']([^"']+)["']|\burl\(["']?([^"')]+)["']?\)"""
)


async def measure(quick: bool) -> list[Row]:
    with serving() as server:
        async with Browser.signed_in(server) as browser:
            sizes = await _sizes(browser)
    total = sum(sizes.values()) / 1000
    largest = max(sizes, key=lambda path: sizes[path]).rpartition("/")[2]
    figure = f"everything the chat page loads: {len(sizes)} files"
    measured = f"{total:.1f} KB (page {sizes['/'] / 1000:.1f}, {largest} the largest)"
    return [Row(figure, measured, f"≤ {BAR_KB:g} KB", total <= BAR_KB)]


async def _sizes(browser: Browser) -> dict[str, int]:
    """Bytes of the body as transferred, for the page and whatever it leads to."""
    sizes: dict[str, int] = {}
    paths = ["/"]
    while paths:
        path = paths.pop()
        if path in sizes or path.startswith("data:") or path.endswith(".woff2"):
            continue  # a font is fetched where its characters stand, and a new chat has no formula
        answer = await browser.client.get(path, headers={"Accept-Encoding": ACCEPT_ENCODING})
        if answer.status_code != 200:
            raise RuntimeError(f"{path} is loaded by the page and answers {answer.status_code}")
        sizes[path] = answer.num_bytes_downloaded
        found = _LOADED.findall(answer.text) if path == "/" else []
        if path.endswith((".js", ".css")) and "/vendor/" not in path:
            found = [name for pair in _IMPORTED.findall(answer.text) for name in pair if name]
        paths += [urljoin(path, name) for name in found if not name.startswith("#")]
    return sizes
