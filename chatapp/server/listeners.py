"""Listening sockets: one for each serving process, all bound to the same address."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from django.core.exceptions import ImproperlyConfigured

BACKLOG = 1024  # connections that may wait while a process is busy or restarting


@dataclass(frozen=True)
class Listeners:
    """The sockets of one process: the app's, and the demo upstream's if it is enabled."""

    app: socket.socket
    demo: socket.socket | None = None

    def open(self) -> list[socket.socket]:
        """Start listening and return the sockets, which the caller must close."""
        sockets = [self.app, self.demo] if self.demo else [self.app]
        for listener in sockets:
            with _reporting_errors(*listener.getsockname()[:2]):
                listener.listen(BACKLOG)
        return sockets

    def close(self) -> None:
        self.app.close()
        if self.demo:
            self.demo.close()


def bind_listeners(host: str, port: int, processes: int, *, has_demo: bool) -> list[Listeners]:
    """Bind the sockets of each process, without listening yet.

    Raises `ImproperlyConfigured` if the address is in use or isn't one of this machine's; so may
    `Listeners.open`.

    The kernel distributes connections among the processes. If a process dies, the connections that
    it hasn't accepted wait for its successor, which gets the same sockets.
    """
    apps = _bind_sockets(host, port, processes)
    # On its own port, reachable only from this machine.
    demos = _bind_sockets("127.0.0.1", 0, processes) if has_demo else [None] * processes
    return [Listeners(app, demo) for app, demo in zip(apps, demos, strict=True)]


def _bind_sockets(host: str, port: int, count: int) -> list[socket.socket]:
    alone = _bind_socket(host, port)
    if count == 1:
        return [alone]
    with alone:  # proves that nobody else has the address, and picks the port if PORT is 0
        port = alone.getsockname()[1]
    return [_bind_socket(host, port, is_shared=True) for _ in range(count)]


def _bind_socket(host: str, port: int, *, is_shared: bool = False) -> socket.socket:
    host = host.strip("[]")
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if is_shared:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    with ExitStack() as on_error, _reporting_errors(host, port):
        on_error.callback(listener.close)
        listener.bind((host, port))
        on_error.pop_all()
    return listener


@contextmanager
def _reporting_errors(host: str, port: int) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ImproperlyConfigured(
            f"{host}:{port} can't be listened on: another process may be using it. Set PORT to a "
            "free port."
        ) from error
