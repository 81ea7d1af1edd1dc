"""The settings to reach a tool server, as values without the database.

A server keeps its connection for as long as its settings are equal.
"""

import shlex
from dataclasses import dataclass

from chatapp.models import ToolServer


@dataclass(frozen=True)
class HttpEndpoint:
    """A server that speaks streamable HTTP, and the headers to send it."""

    url: str
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Command:
    """A server that is started as a program and speaks over stdin and stdout."""

    words: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class ServerSettings:
    name: str
    transport: HttpEndpoint | Command
    timeout_seconds: float = 30.0
    result_limit: int = 100_000  # bytes

    @classmethod
    def of(cls, server: ToolServer) -> "ServerSettings":
        secrets = tuple(server.secret_pairs().items())
        return cls(
            name=server.name,
            transport=Command(tuple(shlex.split(server.command)), secrets)
            if server.transport == ToolServer.Transport.STDIO
            else HttpEndpoint(server.url, secrets),
            timeout_seconds=server.timeout_seconds,
            result_limit=server.result_limit_kb * 1000,
        )
