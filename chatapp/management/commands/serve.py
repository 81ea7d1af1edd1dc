"""`manage.py serve`: the one way in. Daphne on uvloop, with the demo upstream where none is set."""

import asyncio
import gc
import logging
import secrets
import signal
import sys
import time
from functools import partial
from typing import Any

import uvloop
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection
from twisted.internet.main import installReactor

from chatapp import frames, metrics, rendering
from chatapp.access import idle_sessions
from chatapp.accounts.setup_link import setup_link
from chatapp.cluster import Heartbeat
from chatapp.management import stored_secrets
from chatapp.management.sentences import in_sentences
from chatapp.management.upgrading import upgrade
from chatapp.models import Message, Process, Upstream
from chatapp.models.locks import only_one_process
from chatapp.models.processes import EXPIRY_SECONDS
from chatapp.models.upstreams import DEMO
from chatapp.server.data_dir import make_private
from chatapp.server.reactor import WriteFirstReactor
from chatapp.worker import begin_as, shut_down

logger = logging.getLogger(__name__)

SWITCH_SECONDS = 0.001  # Python's own is 0.005
SETTLE_SECONDS = 0.2  # between looks at whether another process lives


class Command(BaseCommand):
    help = "Serve the app on HOST:PORT until SIGTERM or SIGINT; running replies are saved."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--upgrade",
            action="store_true",
            help="First do what `manage.py upgrade` does, where there is something to be done.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["upgrade"]:
            upgrade()
        with in_sentences():
            make_private(settings.DATA_DIR)
            self._sign_on(Process.here(is_alone=not settings.REDIS_URL))
        asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
        # Daphne takes the reactor that is there when it is first imported.
        installReactor(WriteFirstReactor(asyncio.new_event_loop()))  # type: ignore[no-untyped-call]
        self.demo_key = "" if settings.OPENAI_BASE_URL else secrets.token_urlsafe()
        self.server = self._server()
        from twisted.internet import reactor

        self.reactor: Any = reactor
        self.server.run()
        if self.server.abort_start:
            self.heartbeat.stop()
            raise CommandError(
                f"{settings.HOST}:{settings.PORT} can't be listened on: another process may have "
                "it. Set PORT to a free one."
            )

    def _server(self) -> Any:
        import daphne.server
        from daphne.endpoints import build_endpoint_description_strings
        from daphne.ws_protocol import WebSocketFactory

        from chatapp.server.http_protocol import BoundedFactory
        from chatapp.server.socket_protocol import Server, SocketProtocol

        WebSocketFactory.protocol = SocketProtocol
        # Daphne has no other way to say which one it takes.
        daphne.server.HTTPFactory = partial(BoundedFactory, body_limit=self._body_limit)

        endpoints = build_endpoint_description_strings(host=settings.HOST, port=settings.PORT)
        if self.demo_key:
            endpoints += build_endpoint_description_strings(host="127.0.0.1", port=0)
        return Server(
            self._application(),
            endpoints=endpoints,
            signal_handlers=False,
            ready_callable=self._ready,
            server_name="chatapp",
            websocket_timeout=-1,  # a tab may stay open for as long as it likes
        )

    def _sign_on(self, process: Process) -> None:
        with only_one_process("serve"):  # of two that start at once, one sees the other
            Process.objects.forget_those_that_died_here()
            self._refuse_deaf_company()
            process.save()
        connection.close()
        self.heartbeat = Heartbeat(process)
        self.heartbeat.start()

    def _refuse_deaf_company(self) -> None:
        """Raises `CommandError` where another process lives and one would not hear the other."""
        others = (
            Process.objects.filter(is_alone=True) if settings.REDIS_URL else Process.objects.all()
        )
        before = {process.pk: process for process in others}
        give_up_at = time.monotonic() + EXPIRY_SECONDS
        while before and time.monotonic() < give_up_at:
            for process in Process.objects.filter(pk__in=before):
                if process.seen_at != before[process.pk].seen_at:
                    raise CommandError(
                        f"{process} serves the same database. For more than one process set "
                        "REDIS_URL for each of them, for example redis://localhost:6379/0; or "
                        "stop the other one first."
                    )
            time.sleep(SETTLE_SECONDS)
        Process.objects.filter(pk__in=before).delete()

    def _application(self) -> Any:
        """The app, and the demo upstream on a port of its own that only this machine reaches."""
        from chatapp.asgi import application
        from chatapp.demo.app import demo_application

        if not self.demo_key:
            return application
        demo = demo_application(self.demo_key, recordings=settings.DATA_DIR / "recordings")

        async def by_port(scope: Any, receive: Any, send: Any) -> None:
            at_demo = scope["server"][1] == self._demo_port
            await (demo if at_demo else application)(scope, receive, send)

        return by_port

    def _body_limit(self, port: int, path: bytes) -> int:
        """The most bytes that the body of a request to this path may have; the demo is asked with
        whole conversations."""
        from chatapp.demo.http import MAX_BODY

        at_demo = self.demo_key and port == self._demo_port
        return MAX_BODY if at_demo else settings.CHATAPP_MAX_BODY_BYTES

    @property
    def _demo_port(self) -> int:
        return int(self.server.listening_addresses[-1][1])

    def _ready(self) -> None:
        self.heartbeat.complete_lost_replies()
        if interrupted := Message.objects.interrupt_orphans():
            metrics.orphans.inc(interrupted)
            logger.info("%d replies were streaming when their server died", interrupted)
        with only_one_process("connect"):
            self._connect_upstream()
        idle_sessions.shorten()
        for problem in stored_secrets.problems():
            logger.error("%s", problem)
        greeting = self._greeting()
        connection.close()
        gc.collect()
        gc.freeze()
        # Rarer than Python's own, for what is young; often enough for replies that have ended,
        # whose parts name each other and lived long enough to have become old.
        gc.set_threshold(10_000, 5, 2)
        # While a thread works, the loop waits this long each time that it wants the interpreter.
        sys.setswitchinterval(SWITCH_SECONDS)
        # In the loop, since uvloop takes signals only while it runs.
        self.reactor.callLater(0, self._begin, greeting)

    def _connect_upstream(self) -> None:
        if self.demo_key:
            url = f"http://127.0.0.1:{self._demo_port}/v1"
            Upstream.connect_environment(DEMO, url, self.demo_key)
        else:
            Upstream.connect_environment(
                "Default", settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY
            )

    def _greeting(self) -> str:
        host, port = self.server.listening_addresses[0]
        host = f"[{host}]" if ":" in host else host
        address = f"http://{host}:{port}"
        lines = [f"chatapp is at {address}"]
        if link := setup_link(address):
            lines.append(f"Create the first account, an administrator, once: {link}")
        if self.demo_key:
            lines.append("The built-in demo answers; OPENAI_BASE_URL connects a real gateway.")
        return "\n".join(lines)

    def _begin(self, greeting: str) -> None:
        self._stopping: asyncio.Task[None] | None = None
        loop = asyncio.get_running_loop()
        begin_as(self.heartbeat)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop)
        rendering.warm_up()
        loop.run_in_executor(None, frames.warm_up)
        self.stdout.write(greeting)
        self.stdout.flush()

    def _stop(self) -> None:
        """The first signal drains, a second one does not wait."""
        if self._stopping:
            self.reactor.stop()
        else:
            self._stopping = asyncio.get_running_loop().create_task(self._drain_and_stop())

    async def _drain_and_stop(self) -> None:
        seconds = f"{settings.CHATAPP_DRAIN_SECONDS:g}"
        self.stdout.write(f"Stopping: running replies get {seconds} s, then they are saved.")
        self.stdout.flush()
        try:
            await shut_down(settings.CHATAPP_DRAIN_SECONDS)
        except Exception:  # whatever it was, the process ends
            logger.exception("The process could not stop as it should")
        rendering.shut_down()
        self.reactor.stop()
