"""Firefox, driven by WebDriver BiDi (https://www.w3.org/TR/webdriver-bidi/)."""

import itertools
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

from tests.engines.engine import Action, Engine
from tests.support.program import WAIT_SECONDS, Program

NAMES = ("firefox-esr", "firefox")
VIEWPORT = {"width": 1280, "height": 800}


def path() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


class FirefoxProgram(Program):
    ready = r"WebDriver BiDi listening on (ws://\S+)"

    def __init__(self, profile: Path) -> None:
        super().__init__()
        self._profile = profile

    def command(self) -> list[str]:
        return [
            path() or "",
            "--headless",
            "--no-remote",
            f"--profile={self._profile}",
            "--remote-debugging-port=0",
        ]

    def child_environment(self) -> dict[str, str]:
        return {**os.environ, "HOME": str(self._profile)}


@contextmanager
def firefox(folder: Path) -> Iterator["Firefox"]:
    program = FirefoxProgram(folder)
    url = program.begin_start()[1]
    try:
        with connect(f"{url}/session", max_size=None, proxy=None) as socket:
            yield Firefox(socket)
    finally:
        program.kill()


class Firefox(Engine):
    def __init__(self, socket: ClientConnection) -> None:
        self.errors = []
        self._socket = socket
        self._numbers = itertools.count(1)
        self._send("session.new", capabilities={})
        self._send("session.subscribe", events=["log.entryAdded"])
        self._context = self._send("browsingContext.getTree")["contexts"][0]["context"]
        self._send("browsingContext.setViewport", context=self._context, viewport=VIEWPORT)

    def go(self, url: str) -> None:
        self._send("browsingContext.navigate", context=self._context, url=url, wait="complete")

    def reload(self) -> None:
        self._send("browsingContext.reload", context=self._context, wait="complete")

    def run(self, expression: str) -> Any:
        answer = self._send(
            "script.evaluate",
            expression=f"Promise.resolve({expression}).then((value) => JSON.stringify(value))",
            target={"context": self._context},
            awaitPromise=True,
        )
        assert answer["type"] == "success", answer
        return json.loads(answer["result"].get("value", "null"))

    def perform(self, source: Action) -> None:
        self._send("input.performActions", context=self._context, actions=[source])

    def _send(self, method: str, **params: Any) -> Any:
        """Return the result of one command; events that arrive meanwhile are console entries."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            answer = json.loads(self._socket.recv(WAIT_SECONDS))
            if answer.get("id") == number:
                assert answer["type"] == "success", answer
                return answer["result"]
            entry = answer["params"]
            if entry.get("level") in ("error", "warn"):
                self.errors.append(str(entry["text"]))
