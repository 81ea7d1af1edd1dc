"""A server that records what a proxy sends, for tests of the proxy alone."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

from tests.support.live import free_port


class Stub:
    """Answers everything with one status and records request headers; a context manager."""

    def __init__(self, status: int = 200, ready: int = 200) -> None:
        self.port = free_port()
        self.status = status
        self.ready = ready  # the status of `/readyz`
        self.requests: list[dict[str, str]] = []  # names in lower case; without probes

    def __enter__(self) -> Self:
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                is_probe = self.path.startswith("/readyz")
                length = int(self.headers.get("content-length", 0))
                self.rfile.read(length)
                if not is_probe:
                    headers = {name.lower(): value for name, value in self.headers.items()}
                    stub.requests.append(headers | {":path": self.path})
                self.send_response(stub.ready if is_probe else stub.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_GET = do_POST = answer

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=[0.05])
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
