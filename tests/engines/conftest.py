"""An engine other than Chromium, and the app with an upstream for it."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.engines import firefox, webkit
from tests.engines.engine import Engine
from tests.support.fake_upstream import FakeUpstream
from tests.support.live import Server, Site


@pytest.fixture(params=["firefox", "webkit"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    is_there = {"firefox": firefox.path, "webkit": webkit.browser}[request.param]()
    if not is_there:
        problem = f"{request.param} is not installed, or what drives it is not"
        if os.environ.get("CHATAPP_TEST_REQUIRE_ENGINES") == "1":
            pytest.fail(problem)
        pytest.skip(problem)
    start = {"firefox": firefox.firefox, "webkit": webkit.webkit}[request.param]
    opened: AbstractContextManager[Engine] = start(tmp_path)
    with opened as engine:
        yield engine


@pytest.fixture
def upstream() -> Iterator[FakeUpstream]:
    with FakeUpstream() as upstream:
        yield upstream


@pytest.fixture
def server(site: Site, upstream: FakeUpstream) -> Iterator[Server]:
    with site.server(OPENAI_BASE_URL=upstream.base_url, OPENAI_API_KEY="sk-very-secret") as server:
        yield server
