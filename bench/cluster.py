"""Several servers on a PostgreSQL and a Redis of their own, behind nginx and Caddy.


    with cluster() as here:
        async with here.browser(0) as browser: ...      # at the first server

PostgreSQL runs without fsync: what it would lose in a crash of the machine is not measured here.
"""

import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from bench.driver import WAIT_SECONDS, Browser
from bench.server import ONE_FOR_ALL, Server, scripted_upstream
from tests.deployment.services import Postgres, Redis
from tests.deployment.stack import Stack
from tests.support.live import Person, Site


@dataclass
class Upstream:
    base_url: str


@dataclass(frozen=True)
class Cluster:
    stack: Stack
    site: Site
    upstream: str
    person: Person

    def get_server(self, number: int) -> Server:
        """Return one of the servers, to measure the CPU it uses."""
        server = self.stack.servers[number]
        return Server(server.pid, urlsplit(server.url).netloc, self.upstream, 0.0)

    @asynccontextmanager
    async def browser(self, number: int) -> AsyncIterator[Browser]:
        """Open the person's browser at one of the servers."""
        async with httpx.AsyncClient(
            base_url=self.stack.servers[number].url,
            cookies=self.person.cookies,
            timeout=WAIT_SECONDS,
            trust_env=False,
        ) as client:
            browser = Browser(self.get_server(number), client)
            try:
                yield browser
            finally:
                await browser.close_tabs()


@contextmanager
def cluster(servers: int = 3, **environment: str) -> Iterator[Cluster]:
    """Start the cluster; settings are environment variables of every server."""
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        scripted_upstream() as upstream,
        site_on_postgres(Path(folder)) as site,
        Redis() as redis,
        Stack(
            site,
            redis,
            Upstream(f"http://{upstream}/v1"),
            Path(folder),
            servers,
            environment=ONE_FOR_ALL | environment,
        ) as stack,
    ):
        yield Cluster(stack, site, upstream, site.person())


@contextmanager
def site_on_postgres(folder: Path, *, is_durable: bool = False) -> Iterator[Site]:
    with Postgres(is_durable=is_durable) as postgres:
        site = Site(folder, postgres.url)
        site.prepare()
        try:
            yield site
        finally:
            site.drop_databases()
