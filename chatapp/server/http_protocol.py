"""Daphne's HTTP protocol, bounded: how much a client may send, and for how long it may take.

Twisted reads a request whole before anybody is asked, spools a body of any size to the disk, and
gives a client that sends a byte a second all the time there is. Here a request that is over a limit
is refused as soon as its head or its bytes say so, and each phase of a connection has its seconds:

    head        from the first byte on (or from the connection on) until its end
    body        as its length takes a slow client
    reply       none: the app answers when it can
    the rest    until a reply is taken, and then until the next request begins

What is refused is told why in a sentence, in a reply that closes the connection. A WebSocket has
limits of its own (`socket_protocol`) from the moment at which its handshake's head is whole.

Import it after the reactor is installed, as Daphne itself.
"""

import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from daphne.http_protocol import HTTPFactory, WebRequest
from twisted.web.http import HTTPChannel
from twisted.web.http import HTTPFactory as TwistedFactory

from chatapp.server.response_headers import refusal_headers

logger = logging.getLogger(__name__)

HEAD_SECONDS = 15.0
BODY_SECONDS = 15.0  # and what its bytes take at the slowest rate
SLOWEST_BYTES_A_SECOND = 16 * 1024
IDLE_SECONDS = 60.0  # a proxy's `keepalive_timeout` must be shorter
TAKING_SECONDS = 300.0  # for what of a reply was not taken when it was written
# What a refused client still sends is read and dropped for as long and as much as this.
LINGER_SECONDS = 2.0
LINGER_BYTES = 4 * 1024 * 1024

MAX_LINE_BYTES = 8 * 1024  # of the request line, and of each header
MAX_HEAD_BYTES = 16 * 1024
MAX_HEADERS = 100
# Of a body that says no length: so many chunks, and one more for each KiB. Twisted takes as long
# for one of a byte, and copies for each what comes behind it, so it is given little at once.
MAX_CHUNKS = 1000
PIECE_BYTES = 4 * 1024

_HTTPChannel: Any = HTTPChannel  # whose types tell half

# The port where a request came in and its path, to the bytes that its body may have.
BodyLimit = Callable[[int, bytes], int]


class BoundedChannel(_HTTPChannel):  # type: ignore[misc]
    """One connection, until it closes or becomes a WebSocket's."""

    MAX_LENGTH = MAX_LINE_BYTES
    maxHeaders = MAX_HEADERS
    totalHeadersSize = MAX_HEAD_BYTES
    abortTimeout = LINGER_SECONDS

    body_limit = 0  # of the request whose head is being read, or was read last
    is_refused = False
    _dropped_bytes = 0  # since it was
    _is_idle = False  # between two requests
    _head_lines = 0
    _head_bytes = 0

    def dataReceived(self, data: bytes) -> None:
        if self.is_refused:
            self._dropped_bytes += len(data)
            if self._dropped_bytes > LINGER_BYTES:
                self.transport.abortConnection()
            return
        if self._is_idle:
            self._is_idle = False
            self.setTimeout(HEAD_SECONDS)
        super().dataReceived(data)

    def resetTimeout(self) -> None:
        """What comes buys no time: each phase has its own from its beginning."""

    # The head

    def lineReceived(self, line: bytes) -> None:
        if line or self._head_lines:  # an empty one before the first is a form's end, of old
            self._head_lines += 1
        self._head_bytes += len(line)
        if self._head_bytes > MAX_HEAD_BYTES or (self._head_lines > MAX_HEADERS + 1 and line):
            self._refuse_head()
        elif line[:1] in (b" ", b"\t"):  # folded, which RFC 9112 (section 5.2) lets nobody send
            self._respondToBadRequestAndDisconnect()
        else:
            super().lineReceived(line)

    def lineLengthExceeded(self, line: bytes) -> None:
        self._head_lines += 1
        self._refuse_head()

    def _refuse_head(self) -> None:
        if self._head_lines == 1:
            self.refuse(414, f"The address is longer than {MAX_LINE_BYTES} bytes.")
        else:
            self.refuse(431, "The headers are too many or too long. Delete this site's cookies.")

    def headerReceived(self, line: bytes) -> bool:
        try:
            return bool(super().headerReceived(line))
        except ValueError:  # a length of more digits than Python takes for a number
            self._respondToBadRequestAndDisconnect()
            return False

    def allHeadersReceived(self) -> None:
        if self.is_refused:
            return
        headers = self.requests[-1].requestHeaders
        coding = headers.getRawHeaders(b"Transfer-Encoding", [])
        # RFC 9112, section 6.1: either is how one request is made to look like two to somebody.
        is_coded_oddly = coding and (
            [one.lower() for one in coding] != [b"chunked"] or self._version == b"HTTP/1.0"
        )
        # Daphne would pass it on to the WebSocket, as frames.
        upgrade = headers.getRawHeaders(b"Upgrade", [b""])[0]
        has_odd_body = upgrade.lower() == b"websocket" and self.length != 0
        if is_coded_oddly or has_odd_body or len(headers.getRawHeaders(b"Host", [])) > 1:
            self._respondToBadRequestAndDisconnect()
            return
        self.body_limit = self.factory.body_limit(self.getHost().port, self._path)
        if self.length is not None and self.length > self.body_limit:
            self.refuse_body()
            return
        super().allHeadersReceived()
        if self.length != 0:
            size = self.body_limit if self.length is None else self.length
            self.setTimeout(BODY_SECONDS + size / SLOWEST_BYTES_A_SECOND)

    # The body

    def rawDataReceived(self, data: bytes) -> None:
        for start in range(0, len(data), PIECE_BYTES):
            if self.is_refused:
                return
            super().rawDataReceived(data[start : start + PIECE_BYTES])
        if self._handlingRequest and any(one.strip(b"\r\n") for one in self._dataBuffer):
            # Nobody needs a second request before the first is answered, and many of them ask for
            # more replies than a client that does not read would let go.
            self.persistent = False
            self._dataBuffer.clear()

    def allContentReceived(self) -> None:
        if self.is_refused:
            return
        self._head_lines = self._head_bytes = 0
        super().allContentReceived()

    def refuse_body(self) -> None:
        self.refuse(
            413, f"This is larger than the {self.body_limit:,} bytes that may be sent here."
        )

    # The reply, and what follows

    def requestDone(self, request: Any) -> None:
        if self._waitingForTransport:
            self._networkProducer.pauseProducing()  # no other request before this reply is taken
        super().requestDone(request)
        is_taken = not self._waitingForTransport and self.persistent
        self.setTimeout(IDLE_SECONDS if is_taken else TAKING_SECONDS)
        self._is_idle = True

    def resumeProducing(self) -> None:
        super().resumeProducing()
        if self._is_idle:
            self.setTimeout(IDLE_SECONDS)

    def timeoutConnection(self) -> None:
        if self.is_refused:
            self.transport.abortConnection()
        elif self._head_lines or (self.line_mode and self._buffer):
            self.refuse(408, "The request took too long to arrive. Send it again.")
        else:
            super().timeoutConnection()

    # Refusing

    def _respondToBadRequestAndDisconnect(self) -> None:
        self.refuse(400, "This is not a request that this server understands.")

    def refuse(self, status: int, sentence: str) -> None:
        """Replies and closes; drops what else comes.

        The way to the client is closed at once, and the one from it a little later: a client that
        is still sending would be reset otherwise, and never read why.
        """
        if self.is_refused:
            return
        self.is_refused = True
        self.clearLineBuffer()
        for request in self.requests:
            if request.content:
                request.content.close()
        body = f"{sentence}\n".encode()
        lines = [
            b"HTTP/1.1 %d %s" % (status, HTTPStatus(status).phrase.encode()),
            b"Content-Length: %d" % len(body),
            b"Connection: close",
            *(b"%s: %s" % header for header in refusal_headers()),
        ]
        logger.info("Request refused", extra={"status": status})
        self._networkProducer.unregisterProducer()
        self.transport.write(b"\r\n".join([*lines, b"", body]))
        self.transport.loseWriteConnection()
        self.setTimeout(LINGER_SECONDS)


class BoundedRequest(WebRequest):  # type: ignore[misc]
    """One request, and the reply to it."""

    _pieces = 0  # of its body

    def __init__(self, *args: Any, **options: Any) -> None:
        # Twisted would parse forms for itself, and in the event loop.
        super().__init__(*args, **options, parsePOSTFormSubmission=False)

    def handleContentChunk(self, data: bytes) -> None:
        if self.channel.is_refused:
            return
        self._pieces += 1
        most_pieces = MAX_CHUNKS + self.content.tell() // 1024
        if self.channel.length is None and self._pieces > most_pieces:
            self.channel.refuse(413, "This comes in too many pieces. Send it in larger ones.")
        elif self.content.tell() + len(data) > self.channel.body_limit:
            self.channel.refuse_body()
        else:
            super().handleContentChunk(data)

    def process(self) -> Any:
        # Daphne takes a path for the app's root from whoever sends this header, and fails on what
        # is not ASCII in either. No socket here has a subprotocol.
        for name in (b"Daphne-Root-Path", b"Sec-WebSocket-Protocol"):
            self.requestHeaders.removeHeader(name)
        cookies = self.requestHeaders.getRawHeaders(b"Cookie", [])
        if b"%00" in self.uri or any(rb"\000" in cookie for cookie in cookies):
            # PostgreSQL stores it nowhere and looks it up nowhere, so nobody has a use for it.
            self.basic_error(400, b"Bad Request", "There is a NUL in this request.")
            return None
        return super().process()

    def basic_error(self, status: int, status_text: bytes, body: str) -> None:
        """In place of Daphne's page: the headers that all replies have, and no style of its own."""
        if self._response_started:
            self.loseConnection()  # half a reply ends there, and is not taken for a whole one
            return
        text = f"{status} {status_text.decode('ascii')}: {body}\n".encode()
        self.handle_reply(
            {"type": "http.response.start", "status": status, "headers": refusal_headers()}
        )
        self.handle_reply({"type": "http.response.body", "body": text})


class BoundedFactory(HTTPFactory):  # type: ignore[misc]
    """To be set in place of Daphne's `HTTPFactory`, with the limit of bodies."""

    protocol = BoundedChannel

    def __init__(self, server: Any, body_limit: BodyLimit) -> None:
        super().__init__(server)
        self.body_limit = body_limit
        self.timeOut = HEAD_SECONDS

    def buildProtocol(self, addr: Any) -> Any:
        channel: Any = TwistedFactory.buildProtocol(self, addr)
        channel.requestFactory = BoundedRequest
        return channel

    def log(self, request: Any) -> None:
        """Makes no line: each request has one in the app's own log."""
