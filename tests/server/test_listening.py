"""Doors: closed until they are opened, all with one address, which is nobody else's."""

import socket
from contextlib import closing

import pytest
from django.core.exceptions import ImproperlyConfigured

from chatapp.server.listening import Doors, doors_of

pytestmark = pytest.mark.server


def address(doors: Doors) -> tuple[str, int]:
    host, port = doors.app.getsockname()[:2]
    return host, port


def test_nobody_is_let_in_before_a_door_is_open() -> None:
    [doors] = doors_of("127.0.0.1", 0, 1, has_demo=False)
    host = address(doors)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(host)
    [listener] = doors.open()
    with closing(listener), closing(socket.create_connection(host)):
        pass


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "[::1]"])
def test_the_doors_of_all_processes_have_one_address(host: str) -> None:
    doors = doors_of(host, 0, 3, has_demo=True)
    assert len({address(one) for one in doors}) == 1
    assert len({one.demo.getsockname() for one in doors if one.demo}) == 1
    for one in doors:
        one.close()


def test_who_waits_at_a_door_is_let_in_by_whoever_opens_it_next() -> None:
    [doors] = doors_of("127.0.0.1", 0, 1, has_demo=False)
    host, inherited = address(doors), doors.app.dup()
    [first] = doors.open()
    with closing(inherited), closing(socket.create_connection(host)) as waiting:
        first.close()
        [second] = Doors(inherited).open()
        with closing(second), closing(second.accept()[0]) as accepted:
            assert accepted.getpeername() == waiting.getsockname()


@pytest.mark.parametrize("processes", [1, 2])
def test_an_address_that_is_taken_is_told_in_a_sentence(processes: int) -> None:
    taken = doors_of("127.0.0.1", 0, 2, has_demo=False)
    host, port = address(taken[0])
    listeners = [one for doors in taken for one in doors.open()]
    with pytest.raises(ImproperlyConfigured, match=f"{host}:{port} can't be listened on"):
        doors_of(host, port, processes, has_demo=False)
    for one in listeners:
        one.close()


def test_of_two_that_are_to_open_the_same_door_one_does() -> None:
    [first] = doors_of("127.0.0.1", 0, 1, has_demo=False)
    [second] = doors_of(*address(first), 1, has_demo=False)
    [listener] = first.open()
    with closing(listener), pytest.raises(ImproperlyConfigured, match="can't be listened on"):
        second.open()
    second.close()
