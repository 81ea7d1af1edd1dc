"""The official JavaScript client of OpenAI at the API. Playwright brings a Node of its own."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import playwright
import pytest

from tests.api.test_served import MAKE_TOKEN
from tests.support.fake_upstream import MODEL, Close, FakeUpstream, answer, delta
from tests.support.live import Site

HERE = Path(__file__).parent / "javascript"
NODE = Path(playwright.__file__).parent / "driver" / "node"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """The script, beside the client that it imports."""
    give_up = pytest.fail if os.environ.get("CI") else pytest.skip
    if shutil.which("npm") is None:
        give_up("npm is not installed, which fetches the JavaScript client")
    for file in HERE.iterdir():
        shutil.copy(file, tmp_path)
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    if done.returncode:
        give_up(f"the JavaScript client could not be fetched: {done.stderr[-300:]}")
    return tmp_path / "script.mjs"


def test_the_javascript_client_gets_what_it_asks_for(site: Site, script: Path) -> None:
    person = site.person()
    with (
        FakeUpstream() as upstream,
        site.server(OPENAI_BASE_URL=upstream.base_url) as server,
    ):
        secret = server.run(MAKE_TOKEN.format(person.username)).strip()
        for steps in (answer("Hi there"), answer("Hi there"), [delta("Half"), Close()]):
            upstream.script(*steps)
        command = [str(NODE), str(script), f"{server.url}/api/v1", secret, MODEL]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    got = json.loads(done.stdout)
    assert got["models"] == [MODEL]
    assert got["answer"] == got["streamed"] == "Hi there"
    assert got["tokens"] == 30
    assert "before it was complete" in got["error"]
    assert got["status"] == 401
