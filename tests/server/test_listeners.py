"""Listening sockets: closed until opened, all with one address that nobody else has."""

import socket
from contextlib import closing

import pytest
from django.core.exceptions import ImproperlyConfigured

from chatapp.server.listeners import Listeners, bind_listeners

pytestmark = pytest.mark.server


def address(listeners: Listeners) -> tuple[str, int]:
    host, port = listeners.app.getsockname()[:2]
    return host, port


def test_connections_are_refused_before_a_socket_is_opened() -> None:
    [listeners] = bind_listeners("127.0.0.1", 0, 1, has_demo=False)
    host = address(listeners)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(host)
    [listener] = listeners.open()
    with closing(listener), closing(socket.create_connection(host)):
        pass


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "[::1]"])
def test_the_sockets_of_all_processes_have_one_address(host: str) -> None:
    listeners = bind_listeners(host, 0, 3, has_demo=True)
    assert len({address(listener) for listener in listeners}) == 1
    assert len({listener.demo.getsockname() for listener in listeners if listener.demo}) == 1
    for listener in listeners:
        listener.close()


def test_waiting_connections_are_accepted_by_the_next_process() -> None:
    [listeners] = bind_listeners("127.0.0.1", 0, 1, has_demo=False)
    host, inherited = address(listeners), listeners.app.dup()
    [first] = listeners.open()
    with closing(inherited), closing(socket.create_connection(host)) as waiting:
        first.close()
        [second] = Listeners(inherited).open()
        with closing(second), closing(second.accept()[0]) as accepted:
            assert accepted.getpeername() == waiting.getsockname()


@pytest.mark.parametrize("processes", [1, 2])
def test_an_address_in_use_is_reported_in_a_sentence(processes: int) -> None:
    taken = bind_listeners("127.0.0.1", 0, 2, has_demo=False)
    host, port = address(taken[0])
    listeners = [open_socket for listeners in taken for open_socket in listeners.open()]
    with pytest.raises(ImproperlyConfigured, match=f"{host}:{port} can't be listened on"):
        bind_listeners(host, port, processes, has_demo=False)
    for listener in listeners:
        listener.close()


def test_only_one_of_two_processes_can_listen_on_an_address() -> None:
    [first] = bind_listeners("127.0.0.1", 0, 1, has_demo=False)
    [second] = bind_listeners(*address(first), 1, has_demo=False)
    [listener] = first.open()
    with closing(listener), pytest.raises(ImproperlyConfigured, match="can't be listened on"):
        second.open()
    second.close()
