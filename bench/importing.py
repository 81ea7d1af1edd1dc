"""Import an export as the page's scripts do: upload it in parts, let it be read, then import it."""

import asyncio
import io
from pathlib import Path
from typing import Any

import httpx

from bench.driver import Browser

POLL_SECONDS = 0.5
GIVE_UP_SECONDS = 1800.0


class Importing:
    def __init__(self, browser: Browser) -> None:
        self._browser, self._client = browser, browser.client
        self._path = ""

    async def upload(self, file: Path) -> None:
        """Upload an export; the app begins to read it then."""
        await self._client.get("/imports/")
        with file.open("rb") as source:
            size = source.seek(0, io.SEEK_END)
            source.seek(0)
            response = await self._post("/imports/upload/", {"name": file.name, "size": str(size)})
            batch = response.json()
            [entry] = batch["files"]
            while part := source.read(batch["part"]):
                offset = source.tell() - len(part)
                await self._browser.send_part(f"/imports/files/{entry['id']}/part/", part, offset)
        self._path = (await self._post(f"/imports/read/{batch['batch']}/", {})).json()["url"]

    async def start(self) -> None:
        """Import what was read."""
        await self._post(f"{self._path}start/", {})

    async def until_ended(self) -> None:
        """Wait until the job has read the export, or stored it. Raises `RuntimeError`."""
        async with asyncio.timeout(GIVE_UP_SECONDS):
            while True:
                progress = await self._progress()
                if progress["has_ended"]:
                    break
                await asyncio.sleep(POLL_SECONDS)
        if progress["state"] != "done":
            raise RuntimeError(f"the import has {progress['state']}")

    async def _progress(self) -> Any:
        return (await self._client.get(f"{self._path}progress/")).raise_for_status().json()

    async def _post(self, path: str, form: dict[str, str]) -> httpx.Response:
        answer = await self._client.post(path, data=form, headers=self._browser.form_headers)
        if answer.status_code >= 400:
            raise RuntimeError(answer.text)
        return answer
