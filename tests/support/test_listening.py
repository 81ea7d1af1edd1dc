"""The tests' own servers leave no socket open, whenever they are stopped."""

import gc
import socket
import threading

import pytest

from tests.support.fake_upstream import FakeUpstream


@pytest.mark.network
def test_a_connection_accepted_while_the_server_stops_is_closed() -> None:
    """A socket left open warns when it is collected, and warnings are errors here."""
    for _ in range(5):  # the turn that accepts it depends on where the selector reports it
        upstream = FakeUpstream().start()
        go = threading.Event()
        upstream.call_soon(go.wait)
        client = socket.create_connection(("127.0.0.1", upstream.port))
        upstream.begin_stop()
        go.set()
        upstream.wait()
        client.close()
    gc.collect()
