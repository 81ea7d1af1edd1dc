"""A server, a client that writes arbitrary bytes to it, and an installation with people."""

from collections.abc import Iterator

import pytest

from chatapp.models import User
from tests.files.conftest import reads_at_once  # noqa: F401 - a fixture
from tests.security import house as houses
from tests.security.wire import Wire
from tests.support.live import Server, Site

TOKEN = "let-prometheus-in-0123456789"


@pytest.fixture(scope="package")
def server(site: Site) -> Iterator[Server]:
    with site.server(CHATAPP_METRICS_TOKEN=TOKEN) as server:
        yield server
        assert "Traceback" not in server.log


@pytest.fixture
def wire(server: Server) -> Iterator[Wire]:
    with Wire(server.url) as wire:
        yield wire


@pytest.fixture
def house(alice: User, bob: User, olive: User, generations_end: None) -> houses.House:
    return houses.furnish(alice)
