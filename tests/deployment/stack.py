"""A team's deployment: servers on one database and one Redis, behind nginx and Caddy.


    with Stack(site, redis, upstream, folder, servers=3) as stack:
        async with Viewer.opened(stack.nginx, stack.person()) as viewer:
            stack.servers[0].kill()

Every part is a `Program`: it can be stopped, killed, paused, and started on the same port. A test
that has viewers does this in a thread (`await asyncio.to_thread(stack.redis.stop)`), so that the
viewers are not blocked meanwhile.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from tests.deployment.proxies import NOTHING, Caddy, Nginx
from tests.deployment.services import Redis
from tests.support.live import Server, Site, free_port


class Upstream(Protocol):
    base_url: str


class Stack:
    def __init__(
        self,
        site: Site,
        redis: Redis,
        upstream: Upstream,
        folder: Path,
        servers: int,
        server: type[Server] = Server,
        nginx: Mapping[str, str] = NOTHING,
        environment: Mapping[str, str] = NOTHING,
    ) -> None:
        """`nginx` holds changes to its configuration, `environment` variables for the servers."""
        self.redis = redis
        ports = [free_port() for _ in range(servers)]
        self.nginx = Nginx(make_folder(folder / "nginx"), ports, nginx)
        self.caddy = Caddy(make_folder(folder / "caddy"), ports)
        shared = site.copy() | {
            "REDIS_URL": redis.url,
            "OPENAI_BASE_URL": upstream.base_url,
            "OPENAI_API_KEY": "sk-very-secret",
            "CSRF_TRUSTED_ORIGINS": f"{self.nginx.url},{self.caddy.url}",
            **environment,
        }
        self.servers = [server(shared | {"PORT": str(port)}) for port in ports]

    def __enter__(self) -> Self:
        with ExitStack() as started:
            for program in (*self.servers, self.nginx, self.caddy):
                started.enter_context(program)
            self._started = started.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._started.__exit__(kind, error, trace)


def make_folder(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder
