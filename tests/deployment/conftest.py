"""One PostgreSQL, one Redis and one scripted upstream for all tests, with servers and proxies."""

import os
import shutil
import time
from collections.abc import Iterator

import pytest

from tests.deployment.proxies import Proxy
from tests.deployment.services import Postgres, Redis, postgres_program
from tests.deployment.stack import Stack
from tests.support.fake_upstream import FakeUpstream
from tests.support.live import Person, Server, Site
from tests.support.program import WAIT_SECONDS

PATIENCE = {
    "CHATAPP_CLOSE_GRACE": "3600",
    "CHATAPP_DROP_GRACE": "3600",
    "CHATAPP_METRICS_TOKEN": "metrics",
}
HASTE = {"CHATAPP_CLOSE_GRACE": "0", "CHATAPP_DROP_GRACE": "0", "CHATAPP_DRAIN_SECONDS": "1"}
PROGRAMS = ("nginx", "caddy", "redis-server", "openssl", "setpriv")


@pytest.fixture(scope="session", autouse=True)
def programs() -> None:
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    missing += [name for name in ("initdb", "postgres") if not postgres_program(name)]
    if not missing:
        return
    problem = f"not installed: {', '.join(missing)}"
    if os.environ.get("CHATAPP_TEST_REQUIRE_DEPLOYMENT") == "1":
        pytest.fail(problem)
    pytest.skip(problem)


@pytest.fixture(scope="package")
def postgres(programs: None) -> Iterator[Postgres]:
    with Postgres() as postgres:
        yield postgres


@pytest.fixture(scope="package")
def redis(programs: None) -> Iterator[Redis]:
    with Redis() as redis:
        yield redis


@pytest.fixture(scope="package")
def team(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The site that servers are copied from, on the tests' own PostgreSQL."""
    site = Site(tmp_path_factory.mktemp("team"), postgres.url)
    site.prepare()
    yield site
    site.drop_databases()


@pytest.fixture(scope="package")
def team_upstream() -> Iterator[FakeUpstream]:
    with FakeUpstream() as upstream:
        yield upstream


@pytest.fixture(autouse=True)
def forget_requests(team_upstream: FakeUpstream) -> None:
    """Make the upstream forget requests and scripts of earlier tests."""
    team_upstream.forget()


@pytest.fixture(scope="package")
def one_server(
    team: Site, redis: Redis, team_upstream: FakeUpstream, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stack]:
    """A single server behind both proxies, with long graces for closed tabs."""
    folder = tmp_path_factory.mktemp("one")
    with Stack(team, redis, team_upstream, folder, servers=1, environment=PATIENCE) as stack:
        yield stack


@pytest.fixture(scope="module")
def three_servers(
    team: Site, redis: Redis, team_upstream: FakeUpstream, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("three")
    with Stack(team, redis, team_upstream, folder, servers=3, environment=PATIENCE) as stack:
        yield stack


@pytest.fixture
def stack(three_servers: Stack, postgres: Postgres) -> Iterator[Stack]:
    """Three servers with long graces for closed tabs; whatever a test stopped is restarted."""
    yield three_servers
    restore(three_servers, postgres)


@pytest.fixture(scope="module")
def three_hasty_servers(
    team: Site, redis: Redis, team_upstream: FakeUpstream, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("hasty")
    with Stack(team, redis, team_upstream, folder, servers=3, environment=HASTE) as stack:
        yield stack


@pytest.fixture
def hasty(three_hasty_servers: Stack, postgres: Postgres) -> Iterator[Stack]:
    """Three servers without any grace for closed tabs."""
    yield three_hasty_servers
    restore(three_hasty_servers, postgres)


def restore(stack: Stack, postgres: Postgres) -> None:
    for program in (postgres, stack.redis, *stack.servers, stack.nginx, stack.caddy):
        program.resume()
        if not program.is_running:
            program.start()
    for server in stack.servers:
        until_ready(server)


def until_ready(server: Server) -> None:
    """Wait until the server has noticed that everything is back."""
    give_up_at = time.monotonic() + WAIT_SECONDS
    with server.visit() as client:
        while client.get("/readyz", timeout=WAIT_SECONDS).status_code != 200:
            assert time.monotonic() < give_up_at, server.log
            time.sleep(0.05)


@pytest.fixture(params=["nginx", "caddy"])
def proxy(request: pytest.FixtureRequest, one_server: Stack) -> Proxy:
    """Each of the two proxies in turn, in front of one server."""
    proxy: Proxy = getattr(one_server, request.param)
    return proxy


@pytest.fixture
def alice(team: Site) -> Person:
    return team.person()
