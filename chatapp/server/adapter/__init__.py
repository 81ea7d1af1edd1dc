"""All code that depends on the internals of Daphne, Twisted and autobahn.

No other package imports them. Their private parts change without notice: if a version changes,
`tests/server/adapter/test_versions.py` fails until someone has compared these modules with it.
"""

import asyncio
import socket
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chatapp.server.adapter.server import AdaptedServer
    from chatapp.server_interface import FindError, LargeBodies

# The server pings each WebSocket after this many seconds, and waits so long for the pong.
PING_SECONDS, PONG_SECONDS = 20, 30


def create_server(
    loop: asyncio.AbstractEventLoop,
    application: Any,
    sockets: Sequence[socket.socket],
    *,
    body_limit: Callable[[int], int],
    large_bodies: "LargeBodies",
    find_error: "FindError",
    ready: Callable[[], None],
) -> "AdaptedServer":
    """Return a server of the ASGI `application` that runs on `loop`. Call it once in a process.

    The server owns the listening `sockets`. `body_limit` maps a local port to the most bytes that a
    body may have there, apart from those that `large_bodies` admits. `find_error` gives errors of
    the server itself another format than plain text. `ready` is called once, right before `loop`
    runs.
    """
    from twisted.internet.main import installReactor

    from chatapp.server.adapter.reactor import WriteFirstReactor

    installReactor(WriteFirstReactor(loop))  # type: ignore[no-untyped-call]
    # Daphne uses the reactor that is installed when it is first imported.
    from chatapp.server.adapter.server import AdaptedServer

    return AdaptedServer(application, sockets, body_limit, large_bodies, find_error, ready)
