"""WebKitGTK's MiniBrowser, driven by WebDriver (https://www.w3.org/TR/webdriver2/)."""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx

from tests.engines.engine import Action, Engine
from tests.support.live import free_port
from tests.support.program import WAIT_SECONDS, Program

# WebKit's WebDriver has no log, so what the console logs from here on is kept in the page.
_LISTEN = """
(() => {
  window.told = [];
  for (const kind of ["error", "warn"]) {
    console[kind] = (...all) => window.told.push(all.map(String).join(" "));
  }
  addEventListener("error", ({ message }) => window.told.push(message));
  addEventListener("unhandledrejection", ({ reason }) => window.told.push(String(reason)));
})()
"""


def browser() -> str | None:
    """Return the path of MiniBrowser if everything needed to drive it is installed."""
    paths = sorted(Path("/usr/lib").glob("*/webkit2gtk-4.*/MiniBrowser"))
    has_all = shutil.which("WebKitWebDriver") and shutil.which("Xvfb")
    return str(paths[-1]) if paths and has_all else None


class Display(Program):
    ready = r"(?m)^(\d+)$"

    def command(self) -> list[str]:
        return ["Xvfb", "-displayfd", "1", "-screen", "0", "1280x900x24", "-nolisten", "tcp"]


class Driver(Program):
    ready = ""  # it logs nothing

    def __init__(self, display: str, folder: Path) -> None:
        super().__init__()
        self.port = free_port()
        self._display, self._folder = display, folder

    def command(self) -> list[str]:
        return ["WebKitWebDriver", f"--port={self.port}"]

    def child_environment(self) -> dict[str, str]:
        return {**os.environ, "DISPLAY": f":{self._display}", "HOME": str(self._folder)}


@contextmanager
def webkit(folder: Path) -> Iterator["WebKit"]:
    display = Display()
    number = display.begin_start()[1]
    driver = Driver(number, folder).start()
    try:
        url = f"http://127.0.0.1:{driver.port}"
        with httpx.Client(base_url=url, timeout=WAIT_SECONDS * 3, trust_env=False) as client:
            _until_ready(client)
            window = WebKit(client)
            yield window
            window.close()
    finally:
        driver.kill()
        display.kill()


def _until_ready(client: httpx.Client) -> None:
    give_up_at = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < give_up_at:
        with suppress(httpx.ConnectError):
            client.get("/status")
            return
        time.sleep(0.05)
    raise TimeoutError("WebKitWebDriver does not answer")


class WebKit(Engine):
    def __init__(self, client: httpx.Client) -> None:
        self._client = client
        self._told: list[str] = []
        options = {"binary": browser(), "args": ["--automation", "--geometry=1280x850"]}
        capabilities = {"alwaysMatch": {"webkitgtk:browserOptions": options}}
        self._path = ""
        session = self._post("/session", {"capabilities": capabilities})["sessionId"]
        self._path = f"/session/{session}"

    @property
    def errors(self) -> list[str]:  # type: ignore[override]  # polled, not pushed
        return [*self._told, *self.run("window.told ?? []")]

    def go(self, url: str) -> None:
        self._post("/url", {"url": url})
        self.run(_LISTEN)

    def reload(self) -> None:
        self._told = self.errors
        self._post("/refresh", {})
        self.run(_LISTEN)

    def run(self, expression: str) -> Any:
        return self._post("/execute/sync", {"script": f"return {expression.strip()}", "args": []})

    def perform(self, source: Action) -> None:
        self._post("/actions", {"actions": [source]})

    def close(self) -> None:
        self._client.delete(self._path)

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        answer = self._client.post(self._path + path, json=body)
        assert answer.is_success, answer.text
        return answer.json()["value"]
