"""Daphne's WebSocket protocol, hardened against malicious clients and slow ones.

* Outgoing data is bounded. A message of any size may be in transit, in several frames if it is
  large, while others queue behind it. If the queue exceeds `MAX_BACKLOG`, the client isn't reading:
  the connection is aborted, and the tab gets a snapshot when it reconnects.
* Incoming data is bounded: the queue for the application, and each message, which may be as large
  as the largest form.
* The rate of frames is limited, whatever they are: pings, pongs and empty fragments never reach the
  application, which could count them, and cost the event loop as much as a message.
* A page's heartbeat is answered here, because it asks whether the network and this process work,
  not whether the database has answered the tab's last action. Each visible page sends one every few
  seconds, so one that arrives alone, as most do, is recognised by its bytes.
* Nothing is accepted before the handshake is answered. Autobahn would start another handshake, with
  another application, for each head that arrives meanwhile, and buffer everything else.
* Autobahn lets an application close only with 1000 or a private code. After 1012 ("service
  restart") and 1013 ("try again later") a browser reconnects, perhaps to another process. A
  handshake refused with one of them gets 503 instead of 403, and a proxy tries another process.
"""

import logging
import time
from collections import deque
from typing import Any

from autobahn.websocket.types import ConnectionDeny
from daphne.ws_protocol import WebSocketProtocol
from django.conf import settings

from chatapp import metrics
from chatapp.close_codes import CloseCode
from chatapp.concurrency.token_bucket import TokenBucket

logger = logging.getLogger(__name__)

FRAME_BYTES = 1024 * 1024  # control frames can be sent between two of them
MAX_BACKLOG = 1024 * 1024  # bytes queued behind the message in transit
# JSON needs at most six bytes for a character, and the other fields are short.
MAX_INCOMING = 6 * settings.CHATAPP_MAX_PROMPT_CHARACTERS + 64 * 1024
MAX_UNREAD = 100  # messages queued for the application
MAX_UNREAD_BYTES = 2 * MAX_INCOMING
# Frames per action of a tab, on average and in a burst: pongs, and fragments of a long prompt.
FRAMES_PER_ACTION, FRAMES_AT_ONCE_PER_ACTION = 2, 50

# What static/js/connection/heartbeat.js sends, and an answer that changes nothing on the page.
BEAT, BEAT_ANSWER = b'{"action":"beat"}', "<!---->"
BEAT_HEAD = bytes([0x81, 0x80 | len(BEAT)])  # of the frame, before the four bytes of the mask
BEAT_NUMBER = int.from_bytes(BEAT)

CONTINUATION, TEXT, BINARY = 0, 1, 2  # RFC 6455, section 5.2
REFUSALS = {
    CloseCode.RESTARTING: (503, "Service Unavailable"),
    CloseCode.TRY_AGAIN_LATER: (503, "Service Unavailable"),
    CloseCode.FLOOD: (429, "Too Many Requests"),
}


class SocketProtocol(WebSocketProtocol):  # type: ignore[misc]
    """One WebSocket connection."""

    def connectionMade(self) -> None:
        super().connectionMade()
        self._unsent: deque[tuple[int, bytes]] = deque()
        self._sent = 0  # bytes already sent of the first message in `_unsent`
        self._behind = 0  # bytes of the other messages in `_unsent`
        self._is_full = False  # the transport has asked to pause
        self._unread = 0  # bytes received since the application's queue was last empty
        actions = settings.CHATAPP_ACTIONS_PER_SECOND
        self._frames = TokenBucket(FRAMES_PER_ACTION * actions, FRAMES_AT_ONCE_PER_ACTION * actions)
        self._is_ignoring = False  # drop what arrives until the connection is closed
        # Until the upgrade, Daphne's HTTP channel was the producer.
        self.transport.unregisterProducer()
        self.transport.registerProducer(self, True)

    # Outgoing: from the application

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
        """Send a text frame straight to the socket.

        The path through Daphne, Autobahn and Twisted takes longer than all the work before it. It
        is used only if needed: for large messages, and if the socket isn't ready.
        """
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
        except OSError:  # the transport will get and handle the same error
            sent = 0
        if sent < len(data):
            transport.write(data[sent:])

    def serverSend(self, content: str | bytes, binary: bool = False) -> None:
        if self.state != self.STATE_OPEN:
            return
        if self._behind > MAX_BACKLOG:
            logger.info("WebSocket aborted: the client does not read")
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

    # Flow control by the transport: twisted.internet.interfaces.IPushProducer

    def pauseProducing(self) -> None:
        self._is_full = True

    def resumeProducing(self) -> None:
        self._is_full = False
        self._send_more()

    def stopProducing(self) -> None:
        self._unsent.clear()
        self._sent = self._behind = 0

    def onClose(self, wasClean: bool, code: int | None, reason: str | None) -> None:
        # Daphne doesn't know connections without a handshake, and may have forgotten refused ones.
        if hasattr(self, "server") and self in self.server.connections:
            super().onClose(wasClean, code, reason)

    # Incoming: from the client

    def dataReceived(self, data: bytes) -> None:
        if _is_beat(data) and self._awaits_message() and self._frames.take() >= 0:
            self._answer_beat()
        else:
            super().dataReceived(data)

    def _awaits_message(self) -> bool:
        """Return whether the next byte begins a new message that will be processed."""
        if self.state != self.STATE_OPEN or self._is_ignoring:
            return False
        return not (self.data or self.current_frame or self.inside_message)

    def _dataReceived(self, data: bytes) -> None:
        if self._is_ignoring:
            return
        if hasattr(self, "handshake_deferred"):  # the application hasn't accepted it yet
            self._is_ignoring = True
            self.dropConnection(abort=True)
            return
        super()._dataReceived(data)

    def processData(self) -> bool:
        return not self._is_ignoring and bool(super().processData())

    def onFrameBegin(self) -> None:
        if self._frames.take() < 0:
            self._refuse_flood()
        else:
            super().onFrameBegin()

    def onPing(self, payload: bytes) -> None:
        """Skip the pong if the client doesn't read: the queue of pongs would be unbounded."""
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
        if waiting < MAX_UNREAD and self._unread <= MAX_UNREAD_BYTES:
            super().onMessage(payload, isBinary)
        else:
            self._refuse_flood()

    def _answer_beat(self) -> None:
        self.last_ping = time.time()  # like any message, it shows that the client is alive
        self.serverSend(BEAT_ANSWER)

    def _refuse_flood(self) -> None:
        logger.warning("WebSocket closed: the client sends faster than can be read")
        self.sendCloseFrame(code=CloseCode.FLOOD)
        self._is_ignoring = True
        self.data = b""


def _is_beat(data: bytes) -> bool:
    """Return whether `data` is exactly one frame with a heartbeat."""
    mask, payload = data[2:6], data[6:]
    if data[:2] != BEAT_HEAD or len(payload) != len(BEAT):
        return False
    key = int.from_bytes((mask * 5)[: len(BEAT)])
    return int.from_bytes(payload) ^ key == BEAT_NUMBER
