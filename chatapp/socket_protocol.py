"""Daphne's WebSocket protocol, which may also say that the server restarts or can't work now.

Autobahn lets an application close with 1000 or a private code alone; with 1012 ("service restart")
and 1013 ("try again later") a browser comes back, to another process perhaps. A socket that is
refused with one of them gets 503 in place of 403, and a proxy tries another process.

Import it after the reactor is installed, as Daphne itself.
"""

from typing import Any

from autobahn.websocket.types import ConnectionDeny
from daphne.ws_protocol import WebSocketProtocol

COME_BACK = (1012, 1013)  # the IANA registry of WebSocket close codes has their meaning


class SocketProtocol(WebSocketProtocol):  # type: ignore[misc]
    """To be set as the `protocol` of Daphne's `WebSocketFactory`."""

    def handle_reply(self, message: dict[str, Any]) -> None:
        code = message.get("code") if message["type"] == "websocket.close" else None
        if code in COME_BACK and self.state == self.STATE_CONNECTING:
            refusal = ConnectionDeny(503, "Service Unavailable")  # type: ignore[no-untyped-call]
            self.handshake_deferred.errback(refusal)
            del self.handshake_deferred
            self.server.protocol_disconnected(self)
        elif code in COME_BACK:
            self.sendCloseFrame(code=code)
        else:
            super().handle_reply(message)
