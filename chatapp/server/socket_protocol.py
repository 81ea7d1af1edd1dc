"""Daphne's WebSocket protocol, for clients that mean no good and for clients that are slow.

* What waits for a client is bounded. A message of any size may be on its way, in parts where it is
  large. While it is, others wait behind it; where these come to more than a bound, the client does
  not read: the connection is aborted, and the tab catches up by a snapshot when it is back.
* What waits for the application is bounded, and a message may be as large as a form can be.
* So many frames are taken a second, whatever they are: a ping, a pong and an empty fragment reach
  no application that could count them, and each costs the loop as much as a message does.
* A page's beat is answered here: it asks whether the network and this process are there, and not
  whether the database answers what the tab asked for before. Each page that is seen sends one every
  few seconds, so one that comes alone, as most do, is known by its bytes.
* Nothing is taken before the handshake is answered. Autobahn would run it once more for each head
  that comes meanwhile, with an application of its own, and keep everything else.
* Autobahn lets an application close with 1000 or a private code alone. With 1012 ("service
  restart") and 1013 ("try again later") a browser comes back, to another process perhaps; a socket
  that is refused with one of them gets 503 in place of 403, and a proxy tries another process.

Import it after the reactor is installed, as Daphne itself.
"""

import logging
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from autobahn.websocket.types import ConnectionDeny
from daphne.ws_protocol import WebSocketProtocol
from django.conf import settings

from chatapp import metrics
from chatapp.close_codes import CloseCode
from chatapp.concurrency.token_bucket import Allowance
from chatapp.realtime.viewers import WRITE

logger = logging.getLogger(__name__)

FRAME_BYTES = 1024 * 1024  # pings and closes get through between two of them
MOST_BEHIND = 1024 * 1024  # bytes that wait behind the message that is on its way
# Six bytes are the most that JSON needs for a character, and the other fields are short.
MOST_INCOMING = 6 * settings.CHATAPP_MAX_PROMPT_CHARACTERS + 64 * 1024
MOST_UNREAD = 100  # messages that wait for the application
MOST_UNREAD_BYTES = 2 * MOST_INCOMING
# For each action of a tab, on average and at once: pongs, and the fragments of a long prompt.
FRAMES_PER_ACTION, FRAMES_AT_ONCE_PER_ACTION = 2, 50

# What static/js/heartbeat.js sends, and a frame that changes nothing.
BEAT, BEAT_ANSWER = b'{"action":"beat"}', "<!---->"
BEAT_HEAD = bytes([0x81, 0x80 | len(BEAT)])  # of its frame, before the four bytes of its mask
BEAT_NUMBER = int.from_bytes(BEAT)

CONTINUATION, TEXT, BINARY = 0, 1, 2  # RFC 6455, section 5.2
REFUSALS = {
    CloseCode.RESTARTING: (503, "Service Unavailable"),
    CloseCode.TRY_AGAIN_LATER: (503, "Service Unavailable"),
    CloseCode.FLOOD: (429, "Too Many Requests"),
}


class SocketProtocol(WebSocketProtocol):  # type: ignore[misc]
    """To be set as the `protocol` of Daphne's `WebSocketFactory`."""

    def connectionMade(self) -> None:
        super().connectionMade()
        self.maxMessagePayloadSize = self.maxFramePayloadSize = MOST_INCOMING
        self.failByDrop = False  # who sends what is not taken is told why, by a close code
        self._unsent: deque[tuple[int, bytes]] = deque()
        self._sent = 0  # bytes of the first of them
        self._behind = 0  # bytes of the others
        self._is_full = False  # the transport has enough for now
        self._unread = 0  # bytes since nothing waited for the application
        actions = settings.CHATAPP_ACTIONS_PER_SECOND
        self._frames = Allowance(FRAMES_PER_ACTION * actions, FRAMES_AT_ONCE_PER_ACTION * actions)
        self._is_deaf = False  # what comes is dropped, until the connection is closed
        # It belonged to Daphne's HTTP channel, whose business has ended.
        self.transport.unregisterProducer()
        self.transport.registerProducer(self, True)

    # What the application sends

    def handle_reply(self, message: dict[str, Any]) -> None:
        code = message.get("code") if message["type"] == "websocket.close" else None
        if code in REFUSALS and self.state == self.STATE_CONNECTING:
            refusal = ConnectionDeny(*REFUSALS[CloseCode(code)])  # type: ignore[no-untyped-call]
            self.handshake_deferred.errback(refusal)
            del self.handshake_deferred
            self.server.protocol_disconnected(self)
        elif code in REFUSALS:
            self.sendCloseFrame(code=code)
        else:
            super().handle_reply(message)

    def write(self, text: str) -> None:
        """Sends a frame of a reply in one call: Daphne, autobahn and Twisted between them take
        longer for each than all that was done before. What they are needed for goes their way."""
        payload = text.encode()
        size = len(payload)
        transport = self.transport
        if (
            self.state != self.STATE_OPEN
            or size > 0xFFFF
            or self._unsent
            or self._is_full
            or transport.reactor.is_writing(transport)
        ):
            self.serverSend(payload)
            return
        head = b"\x81%c" % size if size < 126 else b"\x81\x7e%c%c" % divmod(size, 256)
        data = head + payload
        try:
            sent = transport.socket.send(data)
        except OSError:  # the transport will see for itself
            sent = 0
        if sent < len(data):
            transport.write(data[sent:])

    def serverSend(self, content: str | bytes, binary: bool = False) -> None:
        if self.state != self.STATE_OPEN:
            return
        if self._behind > MOST_BEHIND:
            logger.info("A socket is aborted: its client does not read")
            metrics.unread_sockets.inc()
            self.stopProducing()
            self.dropConnection(abort=True)
            return
        payload = content if isinstance(content, bytes) else content.encode()
        if self._unsent:
            self._behind += len(payload)
        self._unsent.append((BINARY if binary else TEXT, payload))
        self._send_more()

    def _send_more(self) -> None:
        while self._unsent and not self._is_full and self.state == self.STATE_OPEN:
            opcode, payload = self._unsent[0]
            start, self._sent = self._sent, self._sent + FRAME_BYTES
            is_whole = self._sent >= len(payload)
            if is_whole:
                self._unsent.popleft()
                self._sent = 0
                self._behind -= len(self._unsent[0][1]) if self._unsent else 0
            self.sendFrame(
                opcode=CONTINUATION if start else opcode,
                payload=payload[start : start + FRAME_BYTES],
                fin=is_whole,
            )

    # What the transport says: twisted.internet.interfaces.IPushProducer

    def pauseProducing(self) -> None:
        self._is_full = True

    def resumeProducing(self) -> None:
        self._is_full = False
        self._send_more()

    def stopProducing(self) -> None:
        self._unsent.clear()
        self._sent = self._behind = 0

    def onClose(self, wasClean: bool, code: int | None, reason: str | None) -> None:
        # Daphne never knew of one whose handshake was none, and may have forgotten a refused one.
        if hasattr(self, "server") and self in self.server.connections:
            super().onClose(wasClean, code, reason)

    # What the client sends

    def dataReceived(self, data: bytes) -> None:
        if _is_beat(data) and self._awaits_message() and self._frames.take() >= 0:
            self._answer_beat()
        else:
            super().dataReceived(data)

    def _awaits_message(self) -> bool:
        """Whether what comes next begins a message, and is heard."""
        if self.state != self.STATE_OPEN or self._is_deaf:
            return False
        return not (self.data or self.current_frame or self.inside_message)

    def _dataReceived(self, data: bytes) -> None:
        if self._is_deaf:
            return
        if hasattr(self, "handshake_deferred"):  # it is being decided whether to let it in
            self._is_deaf = True
            self.dropConnection(abort=True)
            return
        super()._dataReceived(data)

    def processData(self) -> bool:
        return not self._is_deaf and bool(super().processData())

    def onFrameBegin(self) -> None:
        if self._frames.take() < 0:
            self._refuse_flood()
        else:
            super().onFrameBegin()

    def onPing(self, payload: bytes) -> None:
        """Where the client does not read, no pong waits for it, of which there is no bound."""
        if not self._is_full:
            super().onPing(payload)

    def onMessage(self, payload: bytes, isBinary: bool) -> None:
        if self.state != self.STATE_OPEN:
            return
        if payload == BEAT:
            self._answer_beat()
            return
        waiting = self.application_queue.qsize()
        self._unread = len(payload) + (self._unread if waiting else 0)
        if waiting < MOST_UNREAD and self._unread <= MOST_UNREAD_BYTES:
            super().onMessage(payload, isBinary)
        else:
            self._refuse_flood()

    def _answer_beat(self) -> None:
        self.last_ping = time.time()  # as for any message: it needs no ping to be found alive
        self.serverSend(BEAT_ANSWER)

    def _refuse_flood(self) -> None:
        logger.warning("A socket is closed, since it sends faster than can be read")
        self.sendCloseFrame(code=CloseCode.FLOOD)
        self._is_deaf = True
        self.data = b""


def _is_beat(data: bytes) -> bool:
    """Whether this is a beat's frame as a whole, and nothing else."""
    mask, payload = data[2:6], data[6:]
    if data[:2] != BEAT_HEAD or len(payload) != len(BEAT):
        return False
    key = int.from_bytes((mask * 5)[: len(BEAT)])
    return int.from_bytes(payload) ^ key == BEAT_NUMBER


def offering_write(create_application: Callable[..., Any]) -> Callable[..., Any]:
    """Daphne's, which then offers each socket's application the straight way to it."""

    def create(protocol: Any, scope: dict[str, Any]) -> Any:
        if isinstance(protocol, SocketProtocol):
            scope["extensions"] = {WRITE: protocol.write}
        return create_application(protocol, scope)

    return create
