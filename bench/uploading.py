"""Attach files as the page's scripts do: announce a file, send its parts, wait until it is read."""

import asyncio
import io
from collections.abc import Iterator

import httpx

from bench.driver import WAIT_SECONDS, Browser

POLL_SECONDS = 0.02


class Uploads:
    """The draft of a person's new chat."""

    def __init__(self, browser: Browser, poll_seconds: float = POLL_SECONDS) -> None:
        self._browser, self._client = browser, browser.client
        self._poll_seconds = poll_seconds

    async def attach(self, name: str, data: bytes) -> str:
        """Upload a file and return its id when it is ready to be sent."""
        pk = await self.upload(name, len(data), iter([data]))
        await self.until_ready(pk)
        return pk

    async def upload(self, name: str, size: int, data: Iterator[bytes]) -> str:
        """Upload `size` bytes, which arrive in pieces of any length."""
        response = await self._post("/files/", {"name": name, "size": str(size)})
        file = response.raise_for_status().json()
        offset, waiting = 0, b""
        while offset < size:
            while len(waiting) < file["part"] and (more := next(data, b"")):
                waiting += more
            part, waiting = waiting[: file["part"]], waiting[file["part"] :]
            await self._browser.send_part(f"/files/{file['id']}/part/", part, offset)
            offset += len(part)
        return str(file["id"])

    async def until_ready(self, pk: str) -> None:
        async with asyncio.timeout(WAIT_SECONDS):
            while True:
                draft = (await self._client.get("/files/draft/")).raise_for_status().text
                chip = draft.partition(f'id="file-{pk}"')[2].partition(">")[0]
                if 'data-state="ready"' in chip:
                    return
                if 'data-state="failed"' in chip:
                    raise RuntimeError(f"the file could not be read: {draft}")
                await asyncio.sleep(self._poll_seconds)

    async def remove(self, pk: str) -> None:
        (await self._post(f"/files/{pk}/remove/", {})).raise_for_status()

    async def _post(self, path: str, form: dict[str, str]) -> httpx.Response:
        return await self._client.post(path, data=form, headers=self._browser.form_headers)


def make_pdf(pages: int) -> bytes:
    """Return a PDF with a page of text for each of `pages`."""
    lines = [f"Line {number}: packets cross a network one by one." for number in range(50)]
    text = "".join(f"0 -14 Td ({line}) Tj\n" for line in lines)
    stream = f"BT /F1 10 Tf 40 800 Td\n{text}ET".encode()
    return numbered_pdf(pages, b"<< /Length %d >>\nstream\n%b\nendstream" % (len(stream), stream))


def numbered_pdf(pages: int, content: bytes) -> bytes:
    """Return a PDF whose pages all have this content stream."""
    kids = " ".join(f"{4 + number} 0 R" for number in range(pages))
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 3 0 R >>"
    font = b"<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Resources %b /Count %d /Kids [%b] >>" % (font, pages, kids.encode()),
        content,
        *[page] * pages,
    ]
    return _number_objects(objects)


def _number_objects(objects: list[bytes]) -> bytes:
    file = io.BytesIO(b"%PDF-1.7\n")
    file.seek(0, io.SEEK_END)
    offsets = []
    for number, content in enumerate(objects, 1):
        offsets.append(file.tell())
        file.write(b"%d 0 obj\n%b\nendobj\n" % (number, content))
    start = file.tell()
    file.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    file.write(b"".join(b"%010d 00000 n \n" % offset for offset in offsets))
    file.write(b"trailer << /Size %d /Root 1 0 R >>\n" % (len(objects) + 1))
    file.write(b"startxref\n%d\n%%%%EOF" % start)
    return file.getvalue()
