"""Opens pages, many at the same time. `python -m bench.opening HOST UPSTREAM PATH COUNT`.

For each line that it reads it prints a JSON list: the seconds that each page took. It is a process
of its own, so that its work does not delay what others measure.
"""

import asyncio
import json
import sys
import time

import uvloop

from bench.driver import Browser
from bench.server import Server


async def main(host: str, upstream: str, path: str, count: int) -> None:
    async with Browser.signed_in(Server(0, host, upstream, 0)) as browser:
        await _seconds_to_open(browser, path)
        print("ready", flush=True)
        for _ in sys.stdin:
            taken = await asyncio.gather(*(_seconds_to_open(browser, path) for _ in range(count)))
            print(json.dumps(taken), flush=True)


async def _seconds_to_open(browser: Browser, path: str) -> float:
    began_at = time.monotonic()
    (await browser.client.get(path)).raise_for_status()
    return time.monotonic() - began_at


if __name__ == "__main__":
    host, upstream, path, count = sys.argv[1:]
    uvloop.run(main(host, upstream, path, int(count)))
