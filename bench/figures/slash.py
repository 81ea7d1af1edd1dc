"""From typing a slash in the message box to the drawn list of prompts, in Chromium. The list is
loaded soon after the box has got the focus, except in a browser where it was never used."""

import os
import subprocess
import sys
from collections.abc import Mapping
from statistics import median

from playwright.async_api import Page

from bench.chromium import chromium, signed_in_page
from bench.driver import Browser
from bench.server import ROOT, serving
from bench.table import Row, at_most

PROMPTS, BAR_MS = 5000, 50.0
IDLE_MS = 1500  # by then the list has been loaded
MAKE = f"""
from chatapp.models import SavedPrompt, User
text = "Write about {{{{topic}}}} in two sentences. " * 8
SavedPrompt.start_all(User.objects.get(), [
    {{"title": f"Prompt number {{n}}", "command": f"prompt-{{n}}", "text": text}}
    for n in range({PROMPTS})])
"""
TIMING_SCRIPT = """() => {
  let began;
  addEventListener("keydown", () => (began = performance.now()), { capture: true, once: true });
  window.took = new Promise((resolve) => {
    new MutationObserver((_, observer) => {
      if (!document.querySelector("#slash:not([hidden]) .slash-row")) return;
      observer.disconnect();
      requestAnimationFrame(() => resolve(performance.now() - began));
    }).observe(document, { subtree: true, childList: true, attributes: true });
  });
}"""


async def measure(quick: bool) -> list[Row]:
    with serving(before=_fill) as server:
        async with Browser.signed_in(server) as browser, chromium() as launched:
            page = await signed_in_page(launched, browser)
            url = f"http://{server.host}/"
            first, *later = [await _time_slash(page, url) for _ in range(4 if quick else 21)]
    figure = f"a slash to the list of {PROMPTS:,} prompts"
    return [
        at_most(f"{figure}, p50", median(later), BAR_MS, "ms", 1),
        Row(f"{figure}, first use in a browser", f"{first:.0f} ms", "", True),
    ]


async def _time_slash(page: Page, url: str) -> float:
    await page.goto(url)
    await page.focus("#message")
    await page.wait_for_timeout(IDLE_MS)
    await page.evaluate(TIMING_SCRIPT)
    await page.keyboard.press("/")
    took = float(await page.evaluate("window.took"))
    await page.keyboard.press("Backspace")  # or the next page would find the draft
    return took


def _fill(environment: Mapping[str, str]) -> None:
    base_environment = {
        name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ
    }
    command = [sys.executable, "manage.py", "shell", "--command", MAKE]
    subprocess.run(
        command,
        cwd=ROOT,
        env=base_environment | dict(environment),
        check=True,
        stdout=subprocess.DEVNULL,
    )
