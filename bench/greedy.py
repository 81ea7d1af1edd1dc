"""One member who takes as much as the app lets them, in many loops at once, while 300 people read
a chat that they share. `python -m bench.greedy HOST UPSTREAM EXPORT`.

A process of its own: the times of the others are not to contain the work of making the load.
"""

import asyncio
import itertools
import json
import os
import random
import string
import sys
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import httpx
import uvloop

from bench.answers import Order
from bench.driver import Browser
from bench.importing import Importing
from bench.reading import open_reader, share_live
from bench.server import Server
from bench.uploading import Uploads, numbered_pdf

TEXTS_AT_ONCE, TEXT_BYTES = 3, 1_000_000
DOCUMENTS_AT_ONCE, PAGES, STROKES = 8, 900, 20_000
UPLOADS_AT_ONCE, UPLOAD_BYTES = 20, 4 * 2**20
PROMPTS_AT_ONCE, PROMPTS = 4, 900
EXPORTS_AT_ONCE, SEARCHES_AT_ONCE, PREVIEWS_AT_ONCE = 10, 4, 4
SOCKETS, PACE = 50, 5.0  # tokens/s
USERNAME = "greedy"
READERS, READER_NAMES, SHARED_PACE = 300, ("reader-0", "reader-1", "reader-2"), 20.0
BREATH_SECONDS = 0.02  # after a refusal

Loop = Callable[[], Awaitable[None]]


class Greedy:
    """The loops of one signed-in browser."""

    def __init__(self, browser: Browser, export: Path) -> None:
        """`export` is a file that takes long to import."""
        self._browser = browser
        self._client = browser.client
        self._uploads = Uploads(browser, poll_seconds=0.5)
        self._export = export
        self._numbers = itertools.count()

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """Run all loops and keep all sockets open meanwhile."""
        loops: list[Loop] = [
            *[self.replace_text] * TEXTS_AT_ONCE,
            *[self._attach_document] * DOCUMENTS_AT_ONCE,
            *[self._upload] * UPLOADS_AT_ONCE,
            *[self._import_prompts] * PROMPTS_AT_ONCE,
            *[self._export_all] * EXPORTS_AT_ONCE,
            *[self._search] * SEARCHES_AT_ONCE,
            *[self._preview] * PREVIEWS_AT_ONCE,
            self._import_chats,
        ]
        for tab in await self._browser.open_tabs(SOCKETS):
            tab.ask(Order(self._browser.next_number(), tokens=100_000, pace=PACE))
        async with self.running(*loops):
            yield

    @asynccontextmanager
    async def running(self, *loops: Loop) -> AsyncIterator[None]:
        """Run these again and again meanwhile, whatever the app answers."""

        async def repeat(loop: Loop) -> None:
            while True:
                with suppress(httpx.HTTPError, RuntimeError, TimeoutError):
                    await loop()
                await asyncio.sleep(BREATH_SECONDS)

        tasks = [asyncio.create_task(repeat(loop)) for loop in loops]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def replace_text(self) -> None:
        """Replace the text of a file a hundred times."""
        pk = await self._uploads.attach("notes.txt", b"begun")
        try:
            for _ in range(100):
                text = f"{next(self._numbers)} " + random.choice(string.ascii_letters) * TEXT_BYTES
                (await self._post(f"/files/{pk}/text/", {"text": text})).raise_for_status()
        finally:
            await self._uploads.remove(pk)

    async def _attach_document(self) -> None:
        document = slow_pdf(next(self._numbers))
        pk = await self._uploads.upload("slow.pdf", len(document), iter([document]))
        await asyncio.sleep(5)
        await self._uploads.remove(pk)

    async def _upload(self) -> None:
        pk = await self._uploads.upload("large.bin", UPLOAD_BYTES, iter([os.urandom(UPLOAD_BYTES)]))
        await self._uploads.remove(pk)

    async def _import_prompts(self) -> None:
        number = next(self._numbers)
        text = "{{" * 200 + "x" * 1500
        prompts = [{"title": f"{number}-{n}", "text": text} for n in range(PROMPTS)]
        file = {"file": ("prompts.json", json.dumps({"prompts": prompts}).encode())}
        headers = self._browser.form_headers
        (
            await self._client.post("/prompts/import/", files=file, headers=headers)
        ).raise_for_status()

    async def _export_all(self) -> None:
        form = {"format": "html", "scope": "everything", "with_files": "on"}
        (await self._post("/conversations/export/", form)).raise_for_status()

    async def _search(self) -> None:
        words = " ".join(random.choices(string.ascii_lowercase, k=8))
        (await self._client.get("/search/", params={"q": words})).raise_for_status()

    async def _preview(self) -> None:
        (await self._client.get("/files/draft/")).raise_for_status()

    async def _import_chats(self) -> None:
        importing = Importing(self._browser)
        await importing.upload(self._export)
        await importing.until_ended()
        await importing.start()
        await importing.until_ended()

    async def _post(self, path: str, form: dict[str, str]) -> httpx.Response:
        return await self._client.post(path, data=form, headers=self._browser.form_headers)


def slow_pdf(number: int) -> bytes:
    """Return a few kilobytes of PDF whose many pages share one long drawing."""
    drawing = zlib.compress(f"% {number}\n".encode() + b"0 0 m 9 9 l S\n" * STROKES)
    stream = b"<< /Filter /FlateDecode /Length %d >>\nstream\n%b\nendstream" % (
        len(drawing),
        drawing,
    )
    return numbered_pdf(PAGES, stream)


@asynccontextmanager
async def _shared_with_many(author: Browser) -> AsyncIterator[None]:
    """Let many people read a chat while a reply is written in it."""
    [tab] = await author.open_tabs(1)
    tab.ask(Order(author.next_number(), 1, 1000))
    await tab.reply_ended()
    link = await share_live(author, tab.path)
    async with AsyncExitStack() as stack:
        for name in READER_NAMES:
            reader = await stack.enter_async_context(
                Browser.signed_in(author.server, username=name)
            )
            for _ in range(READERS // len(READER_NAMES)):
                await open_reader(reader, link)
        tab.ask(Order(author.next_number(), 100_000, SHARED_PACE))
        yield


async def main(host: str, upstream: str, export: Path) -> None:
    """Take until killed; print a line once everything is at work."""
    server = Server(0, host, upstream, 0)
    async with (
        Browser.signed_in(server, username=USERNAME) as browser,
        _shared_with_many(browser),
        Greedy(browser, export).at_work(),
    ):
        print("at work", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
