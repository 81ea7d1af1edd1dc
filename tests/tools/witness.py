"""Start `tests.tools.server`, and receive its reports."""

import asyncio
import os
import shlex
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

WAIT_SECONDS = 30.0
ROOT = Path(__file__).resolve().parents[2]


class Witness:
    """Waits for lines that servers report; one for any number of servers."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._lines: list[str] = []
        self._changed = asyncio.Condition()

    async def until(self, beginning: str) -> str:
        """Wait for a line with this beginning, remove it, and return the rest of it."""
        async with asyncio.timeout(WAIT_SECONDS), self._changed:
            while True:
                for line in self._lines:
                    if line.startswith(beginning):
                        self._lines.remove(line)
                        return line.removeprefix(beginning).strip()
                await self._changed.wait()

    @property
    def environment(self) -> dict[str, str]:
        return {"WITNESS": self.path, "PYTHONPATH": str(ROOT)}

    async def listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            async with self._changed:
                self._lines.append(line.decode().strip())
                self._changed.notify_all()
        writer.close()

    @asynccontextmanager
    async def http_server(self, kind: str = "http", port: int = 0) -> AsyncIterator["HttpServer"]:
        environment = os.environ | self.environment | {"WITNESS_PORT": str(port)}
        process = await asyncio.create_subprocess_exec(*COMMAND, kind, env=environment)
        try:
            yield HttpServer(process, await self.until("ready"))
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()


COMMAND = (sys.executable, "-m", "tests.tools.server")
STDIO = shlex.join([*COMMAND, "stdio"])


class HttpServer:
    def __init__(self, process: asyncio.subprocess.Process, url: str) -> None:
        self.process = process
        self.url = url

    async def kill(self) -> None:
        self.process.kill()
        await self.process.wait()


@asynccontextmanager
async def listening() -> AsyncIterator[Witness]:
    with TemporaryDirectory() as folder:
        witness = Witness(f"{folder}/witness")
        async with await asyncio.start_unix_server(witness.listen, witness.path):
            yield witness
