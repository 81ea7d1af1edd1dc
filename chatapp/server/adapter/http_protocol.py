"""Daphne's HTTP protocol with limits on how much a client may send and how long it may take.

Twisted reads a whole request before calling the application, spools a body of any size to disk, and
lets a client send one byte a second forever. Here a request over a limit is refused as soon as its
head or its bytes exceed it, and each phase of a connection has a timeout:

    head        from the connection or the first byte to the end of the head
    body        in proportion to its length, at the slowest rate allowed
    response    none while the app takes its time; a client must take what was written meanwhile
    after it    until the client has read the response, then until the next request begins

A refused client gets a response with a sentence that says why, and the connection is closed.
A client that reads slowly slows down the app: what it has not read is never much more than the last
chunk of the response, whose sending takes until then.

WebSockets have limits of their own (`socket_protocol`) once the head of the handshake is complete.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from http import HTTPStatus
from io import BytesIO
from tempfile import TemporaryFile
from typing import IO, Any

from daphne.http_protocol import HTTPFactory, WebRequest
from django.conf import settings
from twisted.web.http import HTTPChannel
from twisted.web.http import HTTPFactory as TwistedFactory

from chatapp.server.response_headers import refusal_headers
from chatapp.server_interface import FindError, LargeBodies, LargeBody, RequestRefused

logger = logging.getLogger(__name__)

HEAD_SECONDS = 15.0
BODY_SECONDS = 15.0  # plus the time its bytes take at the slowest rate
SLOWEST_BYTES_A_SECOND = 16 * 1024
SLOWEST_LARGE_BYTES_A_SECOND = 64 * 1024  # of a large body, which takes up room that others need
IDLE_SECONDS = 60.0  # a proxy's `keepalive_timeout` must be shorter
TAKING_SECONDS = 300.0  # to read what was written, before more is or when all of it was
# What a refused client still sends is read and dropped within these limits.
LINGER_SECONDS = 2.0
LINGER_BYTES = 4 * 1024 * 1024

MAX_LINE_BYTES = 8 * 1024  # of the request line, and of each header
MAX_HEAD_BYTES = 16 * 1024
MAX_HEADERS = 100
# A chunked body may have this many chunks, plus one for each KiB. Twisted spends as much time on
# a chunk of one byte, and copies what follows each chunk, so it is fed small pieces.
MAX_CHUNKS = 1000
PIECE_BYTES = 4 * 1024

_HTTPChannel: Any = HTTPChannel  # its type hints are incomplete

# Maps the local port of a request to the most bytes that anybody may send there.
BodyLimit = Callable[[int], int]
Headers = Sequence[tuple[bytes, bytes]]


class BoundedChannel(_HTTPChannel):  # type: ignore[misc]
    """One connection, until it closes or is upgraded to a WebSocket."""

    MAX_LENGTH = MAX_LINE_BYTES
    maxHeaders = MAX_HEADERS
    totalHeadersSize = MAX_HEAD_BYTES
    abortTimeout = LINGER_SECONDS

    body_limit = 0  # of the request whose head was read last or is being read
    large_body: LargeBody | None = None  # of that request, if it is larger than anybody's may be
    is_refused = False
    _dropped_bytes = 0  # since the refusal
    _is_idle = False  # waiting for the next request
    _head_lines = 0
    _head_bytes = 0
    _path = b""  # of that request

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
        """Do nothing: received data must not extend the timeout of a phase."""

    # The head

    def lineReceived(self, line: bytes) -> None:
        if line or self._head_lines:  # old clients send an empty line after a form
            self._head_lines += 1
        self._head_bytes += len(line)
        if self._head_bytes > MAX_HEAD_BYTES or (self._head_lines > MAX_HEADERS + 1 and line):
            self._refuse_head()
        elif line[:1] in (b" ", b"\t"):  # line folding: forbidden by RFC 9112, section 5.2
            self._respondToBadRequestAndDisconnect()
        else:
            super().lineReceived(line)

    def lineLengthExceeded(self, line: bytes) -> None:
        self._head_lines += 1
        if self._head_lines == 1:
            self._path = line.partition(b" ")[2]
        self._refuse_head()

    def _refuse_head(self) -> None:
        if self._head_lines == 1:
            self.refuse(414, f"The address is longer than {MAX_LINE_BYTES} bytes.")
        else:
            self.refuse(431, "The headers are too many or too long. Delete this site's cookies.")

    def headerReceived(self, line: bytes) -> bool:
        try:
            return bool(super().headerReceived(line))
        except ValueError:  # a length with more digits than Python converts to int
            self._respondToBadRequestAndDisconnect()
            return False

    def allHeadersReceived(self) -> None:
        if self.is_refused:
            return
        headers = self.requests[-1].requestHeaders
        coding = headers.getRawHeaders(b"Transfer-Encoding", [])
        # Both enable request smuggling (RFC 9112, section 6.1).
        has_odd_coding = coding and (
            [value.lower() for value in coding] != [b"chunked"] or self._version == b"HTTP/1.0"
        )
        # Daphne would pass the body on to the WebSocket as frames.
        upgrade = headers.getRawHeaders(b"Upgrade", [b""])[0]
        has_odd_body = upgrade.lower() == b"websocket" and self.length != 0
        if has_odd_coding or has_odd_body or len(headers.getRawHeaders(b"Host", [])) > 1:
            self._respondToBadRequestAndDisconnect()
            return
        self.body_limit = self.factory.body_limit(self.getHost().port)
        if self.length is not None and self.length > self.body_limit:
            self._admit_large_body(self.length, headers.getRawHeaders(b"Authorization", [b""])[0])
        if self.is_refused:
            return
        super().allHeadersReceived()
        if self.length != 0:
            size = self.body_limit if self.length is None else self.length
            slowest = SLOWEST_LARGE_BYTES_A_SECOND if self.large_body else SLOWEST_BYTES_A_SECOND
            self.setTimeout(BODY_SECONDS + size / slowest)

    def _admit_large_body(self, length: int, authorization: bytes) -> None:
        large_bodies: LargeBodies | None = self.factory.large_bodies
        if large_bodies:
            self.body_limit = max(self.body_limit, large_bodies.limit(self._path))
        if not large_bodies or length > self.body_limit:
            self.refuse_body()
            return
        try:
            sent = authorization.decode("latin-1")
            self.large_body = large_bodies.begin(length, sent, self._refuse_with)
        except RequestRefused as error:
            self._refuse_with(error)

    # The body

    def rawDataReceived(self, data: bytes) -> None:
        for start in range(0, len(data), PIECE_BYTES):
            if self.is_refused:
                return
            super().rawDataReceived(data[start : start + PIECE_BYTES])
        if self._handlingRequest and any(chunk.strip(b"\r\n") for chunk in self._dataBuffer):
            if self.requests[0].is_written and not self._waitingForTransport:
                return  # the client has the whole response, so `requestDone` reads the next request
            # Pipelining isn't supported: a client that doesn't read could queue any number of
            # responses. Close the connection after this one.
            self.persistent = False
            self._dataBuffer.clear()

    def allContentReceived(self) -> None:
        if self.is_refused:
            return
        self._head_lines = self._head_bytes = 0
        super().allContentReceived()

    def refuse_body(self) -> None:
        sentence = f"The request is larger than the {self.body_limit:,} bytes allowed here."
        self.refuse(413, sentence)

    # The response, and what follows

    def connectionMade(self) -> None:
        super().connectionMade()
        self._can_write = asyncio.Event()
        self._can_write.set()

    def pauseProducing(self) -> None:
        super().pauseProducing()
        self._can_write.clear()

    async def wait_until_drained(self) -> None:
        """Wait until the client has read the response so far, or is gone."""
        if not self._can_write.is_set():
            self.setTimeout(TAKING_SECONDS)
            await self._can_write.wait()
            self.setTimeout(None)

    def connectionLost(self, reason: Any) -> None:
        super().connectionLost(reason)
        self._can_write.set()
        self._end_large_body()

    def requestDone(self, request: Any) -> None:
        self._end_large_body()
        if self._waitingForTransport:
            # Read no other request before the client has read this response.
            self._networkProducer.pauseProducing()
        early = b"".join(self._dataBuffer)
        self._dataBuffer.clear()
        super().requestDone(request)
        is_read = not self._waitingForTransport and self.persistent
        self.setTimeout(IDLE_SECONDS if is_read else TAKING_SECONDS)
        self._is_idle = True
        if self.persistent and early.strip(b"\r\n"):
            self.dataReceived(early)

    def _end_large_body(self) -> None:
        if self.large_body:
            self.factory.large_bodies.end(self.large_body)
            self.large_body = None

    def resumeProducing(self) -> None:
        super().resumeProducing()
        self._can_write.set()
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
        self.refuse(400, "This server can't understand the request.")

    def refuse(self, status: int, sentence: str) -> None:
        """Respond with `sentence`, close the connection and drop what else arrives."""
        if error := self.factory.find_error(self._path, status, sentence):
            self._refuse_with(error)
        else:
            self._refuse(status, f"{sentence}\n".encode(), refusal_headers())

    def _refuse_with(self, error: RequestRefused) -> None:
        self._refuse(error.status, error.content, build_error_headers(error))

    def _refuse(self, status: int, body: bytes, headers: Headers) -> None:
        """Send a response and read no more.

        Writing ends at once, reading a little later: otherwise a client that is still sending
        would get a reset before it could read the response.
        """
        if self.is_refused:
            return
        self.is_refused = True
        self._end_large_body()
        self.clearLineBuffer()
        for request in self.requests:
            if request.content:
                request.content.close()
        lines = [
            b"HTTP/1.1 %d %s" % (status, HTTPStatus(status).phrase.encode()),
            b"Content-Length: %d" % len(body),
            b"Connection: close",
            *(b"%s: %s" % header for header in headers),
        ]
        logger.info("Request refused", extra={"status": status})
        self._networkProducer.unregisterProducer()
        self.transport.write(b"\r\n".join([*lines, b"", body]))
        self.transport.loseWriteConnection()
        self.setTimeout(LINGER_SECONDS)


def build_error_headers(error: RequestRefused) -> Headers:
    headers = [(name.encode(), value.encode()) for name, value in error.headers.items()]
    return [*refusal_headers(error.content_type), *headers]


class BoundedRequest(WebRequest):  # type: ignore[misc]
    """One request and its response."""

    _chunks = 0  # of its body
    content: Any
    body_file: IO[bytes] | None = None  # with a large body, which the app reads from there

    def __init__(self, *args: Any, **options: Any) -> None:
        # Otherwise Twisted would parse forms too, in the event loop.
        super().__init__(*args, **options, parsePOSTFormSubmission=False)
        self._find_error: FindError = self.channel.factory.find_error

    @property
    def is_written(self) -> bool:
        """Whether the client can tell that it has the whole response, which may not be finished."""
        lengths = self.responseHeaders.getRawHeaders(b"Content-Length")
        is_whole = bool(lengths) and self.sentLength >= int(lengths[0])
        return bool(self.startedWriting) and (self.method == b"HEAD" or is_whole)

    def gotLength(self, length: int | None) -> None:
        super().gotLength(length)
        if self.channel.large_body:
            self.content.close()
            # Where there is room for files. The system's folder may be in memory.
            self.content = TemporaryFile(dir=settings.DATA_DIR)  # noqa: SIM115 - Twisted closes it

    def handleContentChunk(self, data: bytes) -> None:
        if self.channel.is_refused:
            return
        self._chunks += 1
        max_chunks = MAX_CHUNKS + self.content.tell() // 1024
        if self.channel.length is None and self._chunks > max_chunks:
            self.channel.refuse(413, "The request body has too many chunks. Send larger ones.")
        elif self.content.tell() + len(data) > self.channel.body_limit:
            self.channel.refuse_body()
        else:
            super().handleContentChunk(data)

    def process(self) -> Any:
        """Begin to answer, once a large body's token has been checked."""
        if large_body := self.channel.large_body:
            large_body.check.add_done_callback(lambda _: self._process_large_body())
            return None
        return self._process()

    def _process_large_body(self) -> None:
        """Pass the body on as a file.

        Daphne would read all of it on the event loop and keep it in memory.
        """
        if self.channel and self.channel.large_body:
            self.body_file, self.content = self.content, BytesIO()
            self._process()

    def _process(self) -> Any:
        # Daphne takes the app's root path from the first header, whichever client sends it, and
        # fails on non-ASCII characters in either. No WebSocket here has a subprotocol.
        for name in (b"Daphne-Root-Path", b"Sec-WebSocket-Protocol"):
            self.requestHeaders.removeHeader(name)
        cookies = self.requestHeaders.getRawHeaders(b"Cookie", [])
        if b"%00" in self.uri or any(rb"\000" in cookie for cookie in cookies):
            # PostgreSQL can neither store NUL nor search for it, so no valid request has one.
            self.basic_error(400, b"Bad Request", "The request contains a NUL character.")
            return None
        return super().process()

    def basic_error(self, status: int, status_text: bytes, body: str) -> None:
        """Replace Daphne's error page: plain text, with the headers that all responses have."""
        if self._response_started:
            self.loseConnection()  # so that a partial response isn't taken for a whole one
            return
        if error := self._find_error(self.uri or b"", status, body):
            content, headers = error.content, build_error_headers(error)
        else:
            text = f"{status} {status_text.decode('ascii')}: {body}\n"
            content, headers = text.encode(), refusal_headers()
        headers = [*headers, (b"content-length", b"%d" % len(content))]
        self.handle_reply({"type": "http.response.start", "status": status, "headers": headers})
        self.handle_reply({"type": "http.response.body", "body": content})


class BoundedFactory(HTTPFactory):  # type: ignore[misc]
    """A replacement for Daphne's `HTTPFactory` that limits bodies.

    A body can have `body_limit` bytes, or more if it is admitted to `large_bodies`. Errors are
    plain text, unless `find_error` has another format for them.
    """

    protocol = BoundedChannel

    def __init__(
        self,
        server: Any,
        body_limit: BodyLimit,
        large_bodies: LargeBodies | None = None,
        find_error: FindError = lambda *_: None,
    ) -> None:
        super().__init__(server)
        self.body_limit, self.large_bodies = body_limit, large_bodies
        self.find_error = find_error
        self.timeOut = HEAD_SECONDS

    def buildProtocol(self, addr: Any) -> Any:
        channel: Any = TwistedFactory.buildProtocol(self, addr)
        channel.requestFactory = BoundedRequest
        return channel

    def log(self, request: Any) -> None:
        """Do nothing: the app logs each request itself."""
