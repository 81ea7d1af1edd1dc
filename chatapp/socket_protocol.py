"""Daphne's WebSocket protocol, which may also say that the server restarts.

Autobahn lets an application close with 1000 or a private code alone; 1012 ("service restart") tells
a browser to come back, to another process. A socket that is refused with it gets 503 in place of
403, which a proxy takes as the sign to try another process.

Import it after the reactor is installed, as Daphne itself.
"""

from typing import Any

from autobahn.websocket.types import ConnectionDeny
from daphne.ws_protocol import WebSocketProtocol

from chatapp.generation import RESTARTING


class SocketProtocol(WebSocketProtocol):  # type: ignore[misc]
    """To be set as the `protocol` of Daphne's `WebSocketFactory`."""

    def handle_reply(self, message: dict[str, Any]) -> None:
        restarts = (message["type"], message.get("code")) == ("websocket.close", RESTARTING)
        if restarts and self.state == self.STATE_CONNECTING:
            refusal = ConnectionDeny(503, "Service Restart")  # type: ignore[no-untyped-call]
            self.handshake_deferred.errback(refusal)
            del self.handshake_deferred
            self.server.protocol_disconnected(self)
        elif restarts:
            self.sendCloseFrame(code=RESTARTING)
        else:
            super().handle_reply(message)
