"""A server whose database goes down and comes back: it answers with 503 and recovers."""

import os
import re
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

import pytest

from tests.support.line import Line
from tests.support.live import Person, Site
from tests.support.program import WAIT_SECONDS

pytestmark = pytest.mark.skipif(
    not os.environ.get("DATABASE_URL"), reason="needs the PostgreSQL of DATABASE_URL"
)


@dataclass
class Database:
    """The target of a `Line`."""

    url: str


@pytest.fixture
def alice(site: Site) -> Person:
    return site.person()


def test_pages_are_a_503_until_the_database_is_back(site: Site, alice: Person) -> None:
    server = site.server()
    url = urlsplit(server.environment["DATABASE_URL"])
    with Line(Database(url.geturl())) as line:
        netloc = f"{url.netloc.rpartition('@')[0]}@{urlsplit(line.url).netloc}"
        server.environment["DATABASE_URL"] = url._replace(netloc=netloc).geturl()
        with server, server.visit(alice) as client:
            client.timeout = 3 * WAIT_SECONDS
            assert client.get("/").status_code == 200
            assert client.get("/readyz").status_code == 200
            since = len(server.lines)
            line.cut()
            page = client.get("/")
            assert (page.status_code, page.headers["retry-after"]) == (503, "10")
            assert "The database can't be reached" in page.text
            ready = client.get("/readyz")
            assert (ready.status_code, ready.json()["database"]) == (503, False)
            assert client.get("/healthz").status_code == 200
            server.wait_for('"status": 503', since)
            errors = [
                log_line for log_line in server.lines[since:] if '"level": "error"' in log_line
            ]
            loggers = [
                name for error in errors for name in re.findall(r'"logger": "([^"]+)"', error)
            ]
            assert sorted(loggers) == [
                "chatapp.realtime.cluster.heartbeat",
                "chatapp.server.middleware.database_away",
            ], errors
            line.mend()
            deadline = time.monotonic() + WAIT_SECONDS
            while client.get("/readyz").status_code == 503 and time.monotonic() < deadline:
                time.sleep(0.1)
            assert client.get("/readyz").status_code == 200
            assert client.get("/").status_code == 200
