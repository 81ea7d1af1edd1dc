"""One serving process: Daphne on uvloop, from its registration until it has drained."""

import asyncio
import gc
import logging
import signal
import sys
import time
from collections.abc import Callable
from socket import socket
from typing import Any

import uvloop
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError
from django.db import connection

from chatapp import metrics
from chatapp.accounts.setup_link import setup_link
from chatapp.api.large_bodies import LargeBodies
from chatapp.api.responses import find_server_error
from chatapp.db.locks import only_one_process
from chatapp.files import drawn_pages
from chatapp.management import stored_secrets
from chatapp.management.sentences import explain_errors
from chatapp.management.supervisor import WorkerSlot
from chatapp.models import Attachment, Message, Process, Upstream
from chatapp.models.platform.processes import EXPIRY_SECONDS
from chatapp.models.platform.upstreams import DEMO
from chatapp.reading import contents
from chatapp.realtime.cluster import Heartbeat
from chatapp.realtime.worker import shut_down, start_worker
from chatapp.rendering import fragments, pool
from chatapp.server import thread_pools
from chatapp.server.adapter import create_server
from chatapp.sessions import idle_sessions

logger = logging.getLogger(__name__)

SWITCH_SECONDS = 0.001  # Python's own is 0.005
SETTLE_SECONDS = 0.2  # between checks whether another process is alive


class Serving:
    """Runs the server; call `run` once, which returns when the process should exit."""

    def __init__(self, slot: WorkerSlot, demo_key: str, print_line: Callable[[str], None]) -> None:
        """Run the built-in demo upstream with `demo_key` as its API key, unless that is empty."""
        self._slot = slot
        self._demo_key = demo_key
        self._print_line = print_line
        self._stopping: asyncio.Task[None] | None = None

    def run(self) -> None:
        """Serve until stopped. Raises `CommandError` if this process can't serve."""
        with explain_errors():
            self._register(Process.current(is_alone=not settings.REDIS_URL))
        asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
        self._loop = asyncio.new_event_loop()
        try:
            sockets = self._slot.listeners.open()
        except ImproperlyConfigured:
            self._heartbeat.stop()
            raise
        self._addresses = [socket.getsockname()[:2] for socket in sockets]
        self._server = create_server(
            self._loop,
            self._application(),
            sockets,
            body_limit=self._body_limit,
            large_bodies=LargeBodies(),
            find_error=find_server_error,
            ready=self._ready,
        )
        self._server.run()
        self._loop.run_until_complete(thread_pools.finish())

    def _register(self, process: Process) -> None:
        with only_one_process("serve"):  # if two start at once, one sees the other
            Process.objects.forget_dead_on_this_host()
            self._refuse_unconnected_processes()
            process.save()
        connection.close()
        self._heartbeat = Heartbeat(process)
        self._heartbeat.start()

    def _refuse_unconnected_processes(self) -> None:
        """Raise `CommandError` if another running process can't communicate with this one."""
        others = (
            Process.objects.filter(is_alone=True) if settings.REDIS_URL else Process.objects.all()
        )
        before = {process.pk: process for process in others}
        give_up_at = time.monotonic() + EXPIRY_SECONDS
        while before and time.monotonic() < give_up_at:
            for process in Process.objects.filter(pk__in=before):
                if process.seen_at != before[process.pk].seen_at:
                    raise CommandError(
                        f"{process} serves the same database. To run more than one process, set "
                        "REDIS_URL for all of them, for example redis://localhost:6379/0. Or "
                        "stop the other process first."
                    )
            time.sleep(SETTLE_SECONDS)
        Process.objects.filter(pk__in=before).delete()

    def _application(self) -> Any:
        """Return the app, plus the demo upstream on its own, local port."""
        from chatapp.asgi import application
        from chatapp.demo.app import demo_application

        if not self._demo_key:
            return application
        demo = demo_application(self._demo_key, recordings=settings.DATA_DIR / "recordings")

        async def by_port(scope: Any, receive: Any, send: Any) -> None:
            at_demo = scope["server"][1] == self._demo_port
            await (demo if at_demo else application)(scope, receive, send)

        return by_port

    def _body_limit(self, port: int) -> int:
        """Return the maximum size of a body that anybody may send, in bytes.

        The demo gets whole conversations, so its limit is higher.
        """
        from chatapp.demo.http import MAX_BODY

        at_demo = self._demo_key and port == self._demo_port
        return MAX_BODY if at_demo else settings.CHATAPP_MAX_BODY_BYTES

    @property
    def _demo_port(self) -> int:
        return int(self._addresses[-1][1])

    def _ready(self) -> None:
        self._heartbeat.complete_lost_replies()
        if interrupted := Message.objects.interrupt_orphans():
            metrics.orphans.inc(interrupted)
            logger.info("%d replies were running when their process died", interrupted)
        Attachment.objects.fail_orphans()
        with only_one_process("connect"):
            self._connect_upstream()
        idle_sessions.shorten_sessions()
        for problem in stored_secrets.problems():
            logger.error("%s", problem)
        greeting = self._greeting() if self._slot.is_first else ""
        connection.close()
        gc.collect()
        gc.freeze()
        # Collect young objects less often than by default, but old ones often enough: a finished
        # reply has reference cycles and is old by then.
        gc.set_threshold(10_000, 5, 2)
        # While a thread works, the event loop waits this long each time it needs the GIL.
        sys.setswitchinterval(SWITCH_SECONDS)
        # In the event loop, because uvloop handles signals only while it runs.
        self._loop.call_soon(self._begin, greeting)

    def _connect_upstream(self) -> None:
        if self._demo_key:
            url = f"http://127.0.0.1:{self._demo_port}/v1"
            Upstream.connect_environment(DEMO, url, self._demo_key)
        else:
            Upstream.connect_environment(
                "Default", settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY
            )

    def _greeting(self) -> str:
        host, port = self._addresses[0]
        host = f"[{host}]" if ":" in host else host
        address = f"http://{host}:{port}"
        lines = [f"chatapp is at {address}"]
        if link := setup_link(address):
            lines.append(f"Create the first account, an administrator, once: {link}")
        if self._demo_key:
            lines.append("The built-in demo answers. Set OPENAI_BASE_URL to connect a provider.")
        return "\n".join(lines)

    def _begin(self, greeting: str) -> None:
        start_worker(self._heartbeat)
        self._loop.add_signal_handler(signal.SIGTERM, self._stop)
        if supervisor := self._slot.supervisor:
            self._loop.add_reader(supervisor, self._stop_without, supervisor)
        else:
            self._loop.add_signal_handler(signal.SIGINT, self._stop)
        pool.warm_up()
        self._loop.run_in_executor(None, fragments.warm_up)
        self._slot.notify_supervisor()
        if greeting:
            self._print_line(greeting)

    def _stop_without(self, supervisor: socket) -> None:
        """Stop, since nobody would restart or stop this process any more."""
        self._loop.remove_reader(supervisor)
        self._stop()

    def _stop(self) -> None:
        """Drain at the first signal; stop immediately at the second."""
        if self._stopping:
            self._server.stop()
        else:
            self._stopping = self._loop.create_task(self._drain_and_stop())

    async def _drain_and_stop(self) -> None:
        drain = settings.CHATAPP_DRAIN_SECONDS
        if self._slot.is_first:
            self._print_line(
                f"Stopping. Running replies have {drain:g} s to finish, then they are saved."
            )
        try:
            # A supervisor stops all processes, so tabs gain nothing by moving to another.
            await shut_down(drain, alone=not self._slot.supervisor)
        except Exception:  # the process must end in any case
            logger.exception("The process could not shut down cleanly")
        pool.shut_down()
        drawn_pages.shut_down()
        contents.shut_down()
        self._server.stop()
