"""Daphne's server, with our protocols, on sockets that are already open.

Import this only after the reactor is installed: see `create_server`.
"""

import asyncio
import socket
from collections.abc import Callable, Sequence
from typing import Any

from daphne.server import Server
from daphne.ws_protocol import WebSocketFactory
from twisted.internet import endpoints, reactor
from twisted.logger import globalLogBeginner

from chatapp.realtime.viewers import WRITE
from chatapp.server import adapter
from chatapp.server.adapter.http_protocol import BodyLimit, BoundedFactory, BoundedRequest
from chatapp.server.adapter.socket_protocol import MAX_INCOMING, SocketProtocol
from chatapp.server_interface import BODY_FILE, FindError, LargeBodies

# Twisted's type hints describe neither.
_reactor: Any = reactor
_Endpoint: Any = endpoints.AdoptedStreamServerEndpoint


class AdaptedServer(Server):  # type: ignore[misc]
    """See `create_server`."""

    def __init__(
        self,
        application: Any,
        sockets: Sequence[socket.socket],
        body_limit: BodyLimit,
        large_bodies: LargeBodies,
        find_error: FindError,
        ready: Callable[[], None],
    ) -> None:
        super().__init__(
            application,
            endpoints=sockets,
            websocket_timeout=-1,  # a tab may stay open for any time
            ping_interval=adapter.PING_SECONDS,
            ping_timeout=adapter.PONG_SECONDS,
        )
        self.http_factory = BoundedFactory(self, body_limit, large_bodies, find_error)
        self._ready = ready

    def run(self) -> None:
        """Serve until `stop` is called.

        Does what Daphne's own method does, which can use neither other factories nor open sockets.
        """
        self.connections: dict[Any, dict[str, Any]] = {}
        self.ws_factory = WebSocketFactory(self, server="chatapp")
        self.ws_factory.protocol = SocketProtocol
        self.ws_factory.setProtocolOptions(
            allowNullOrigin=True,
            autoPingTimeout=self.ping_timeout,
            openHandshakeTimeout=self.websocket_handshake_timeout,
            maxFramePayloadSize=MAX_INCOMING,
            maxMessagePayloadSize=MAX_INCOMING,
            failByDrop=False,  # a refused client gets a close code, not just a lost connection
        )
        # Drop the log of Twisted: the app logs requests and its errors itself.
        globalLogBeginner.beginLoggingTo([], redirectStandardIO=False, discardBuffer=True)
        _reactor.callLater(1, self.application_checker)
        _reactor.callLater(2, self.timeout_checker)
        for listening in self.endpoints:
            endpoint = _Endpoint(_reactor, listening.detach(), listening.family)
            endpoint.listen(self.http_factory).addErrback(self.listen_error)
        asyncio.set_event_loop(_reactor._asyncioEventloop)  # noqa: SLF001 - as Daphne does
        _reactor.addSystemEventTrigger("before", "shutdown", self.kill_all_applications)
        self._ready()
        if not self.abort_start:
            _reactor.run(installSignalHandlers=False)

    def create_application(self, protocol: Any, scope: dict[str, Any]) -> Any:
        """Put into the scope `SocketProtocol.write` of a WebSocket, or the file of a large body."""
        if isinstance(protocol, SocketProtocol):
            scope["extensions"] = {WRITE: protocol.write}
        elif protocol.body_file:
            scope["extensions"] = {BODY_FILE: protocol.body_file}
        return super().create_application(protocol, scope)

    async def handle_reply(self, protocol: Any, message: dict[str, Any]) -> None:
        """Return only once the client can take more of a response that isn't complete."""
        await super().handle_reply(protocol, message)
        is_response = isinstance(protocol, BoundedRequest)
        if is_response and message.get("more_body") and protocol.channel:
            await protocol.channel.wait_until_drained()
