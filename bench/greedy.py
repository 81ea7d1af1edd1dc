"""One member who takes as much as the app lets them, in many loops at once."""

import asyncio
import itertools
import json
import os
import random
import string
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx

from bench.answers import Order
from bench.driver import Browser
from bench.importing import Importing
from bench.uploading import Uploads, numbered_pdf

TEXTS_AT_ONCE, TEXT_BYTES = 3, 1_000_000
DOCUMENTS_AT_ONCE, PAGES, STROKES = 8, 900, 20_000
UPLOADS_AT_ONCE, UPLOAD_BYTES = 20, 4 * 2**20
PROMPTS_AT_ONCE, PROMPTS = 4, 900
EXPORTS_AT_ONCE, SEARCHES_AT_ONCE, PREVIEWS_AT_ONCE = 10, 4, 4
SOCKETS, PACE = 50, 5.0  # tokens/s
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
