"""Where processes accept connections: a socket for each of them, all with one address."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from django.core.exceptions import ImproperlyConfigured

BACKLOG = 1024  # connections that wait to be accepted while a process is busy, or started again


@dataclass(frozen=True)
class Doors:
    """One process's: the app's, and the demo upstream's where that answers."""

    app: socket.socket
    demo: socket.socket | None = None

    def open(self) -> list[socket.socket]:
        """Whoever comes from now on is accepted, or waits. Whoever gets the sockets closes them."""
        sockets = [self.app, self.demo] if self.demo else [self.app]
        for one in sockets:
            with _in_a_sentence(*one.getsockname()[:2]):
                one.listen(BACKLOG)
        return sockets

    def close(self) -> None:
        self.app.close()
        if self.demo:
            self.demo.close()


def doors_of(host: str, port: int, processes: int, *, has_demo: bool) -> list[Doors]:
    """Doors that are still closed. Raises `ImproperlyConfigured` where the address is another's, or
    is none of this machine's; so may `open`.

    The kernel shares connections out among the processes. Those of one that dies before it has
    accepted them wait for its successor, which has the same doors.
    """
    apps = _bound_to(host, port, processes)
    # On a port of its own, which only this machine reaches.
    demos = _bound_to("127.0.0.1", 0, processes) if has_demo else [None] * processes
    return [Doors(app, demo) for app, demo in zip(apps, demos, strict=True)]


def _bound_to(host: str, port: int, count: int) -> list[socket.socket]:
    alone = _bound(host, port)
    if count == 1:
        return [alone]
    with alone:  # nobody else has it; and where any port will do, it is this one
        port = alone.getsockname()[1]
    return [_bound(host, port, is_shared=True) for _ in range(count)]


def _bound(host: str, port: int, *, is_shared: bool = False) -> socket.socket:
    host = host.strip("[]")
    made = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if is_shared:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    with ExitStack() as made_in_vain, _in_a_sentence(host, port):
        made_in_vain.callback(made.close)
        made.bind((host, port))
        made_in_vain.pop_all()
    return made


@contextmanager
def _in_a_sentence(host: str, port: int) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ImproperlyConfigured(
            f"{host}:{port} can't be listened on: another process may have it. Set PORT to a free "
            "one."
        ) from error
