"""A server, and a client that writes to it whatever bytes a test wants."""

from collections.abc import Iterator

import pytest

from tests.security.wire import Wire
from tests.support.live import Server, Site


@pytest.fixture(scope="package")
def server(site: Site) -> Iterator[Server]:
    with site.server() as server:
        yield server
        assert "Traceback" not in server.log


@pytest.fixture
def wire(server: Server) -> Iterator[Wire]:
    with Wire(server.url) as wire:
        yield wire
