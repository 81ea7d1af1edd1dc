"""Daphne's WebSockets, closed with whatever code the app gives.

Autobahn lets an application close with 1000 and 3000 to 4999 alone, and raises at 1012 (the server
restarts), which IANA registered later and browsers take like any other:
https://www.iana.org/assignments/websocket/websocket.xhtml#close-code-number

Import it after the reactor is installed: Daphne takes the one that is there.
"""

from daphne.ws_protocol import WebSocketFactory, WebSocketProtocol


class Socket(WebSocketProtocol):  # type: ignore[misc]
    def serverClose(self, code: int | None = None) -> None:
        self.sendCloseFrame(code=1000 if code is None else code)


def install() -> None:
    """Lets Daphne's servers make such sockets."""
    WebSocketFactory.protocol = Socket
