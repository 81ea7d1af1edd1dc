"""The demo served by a real Daphne, read with the app's HTTP client."""

import asyncio
import math
import re
import sys
from collections.abc import AsyncIterator

import httpx
import pytest

from chatapp.demo.app import demo_application
from tests.demo import COMPLETIONS, KEY, question

application = demo_application(KEY, math.inf)


@pytest.fixture
async def base_url() -> AsyncIterator[str]:
    command = (
        sys.executable,
        "-m",
        "daphne",
        "-b",
        "127.0.0.1",
        "-p",
        "0",
        f"{__name__}:application",
    )
    server = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
    assert server.stderr
    try:
        async with asyncio.timeout(20):
            async for line in server.stderr:
                if port := re.search(rb"127\.0\.0\.1:(\d+)$", line.strip()):
                    break
            else:
                pytest.fail("Daphne did not start.")
        yield f"http://127.0.0.1:{int(port[1])}"
    finally:
        server.terminate()
        await server.communicate()


@pytest.mark.network
async def test_a_reply_streams_over_http_to_its_end(base_url: str) -> None:
    headers = {"Authorization": f"Bearer {KEY}"}
    async with httpx.AsyncClient(base_url=base_url, headers=headers) as client:
        models = (await client.get("/v1/models")).json()
        async with client.stream("POST", COMPLETIONS, content=question("hello")) as response:
            body = await response.aread()

    assert models["data"][0]["id"] == "demo-reasoner"
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "text/event-stream"
    assert body.startswith(b'data: {"id":"chatcmpl-')
    assert body.endswith(b"data: [DONE]\n\n")
