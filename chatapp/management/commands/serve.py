"""`manage.py serve`: run the app, in one process or several."""

import os
import secrets
import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection
from django.urls import reverse

from chatapp.management.sentences import explain_errors
from chatapp.management.serving import Serving
from chatapp.management.supervisor import Supervisor, WorkerSlot
from chatapp.management.upgrading import refuse_old_schema, upgrade
from chatapp.rendering import fragments
from chatapp.server.data_dir import make_private
from chatapp.server.listeners import Listeners, bind_listeners


class Command(BaseCommand):
    help = "Serve the app on HOST:PORT until SIGTERM or SIGINT, then save running replies."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--upgrade",
            action="store_true",
            help="First run `manage.py upgrade`, if necessary.",
        )
        parser.add_argument(
            "--workers",
            type=int,
            default=settings.WORKERS,
            help="The number of processes, usually one per core (default: WORKERS, or 1).",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        workers: int = options["workers"]
        if workers < 1:
            raise CommandError(f"--workers {workers} is not enough: give 1 or more.")
        if workers > 1 and not settings.REDIS_URL:
            raise CommandError(
                f"{workers} workers need Redis to communicate. Set REDIS_URL, for example "
                "redis://localhost:6379/0, or use one worker."
            )
        if options["upgrade"]:
            upgrade(self.stderr.write)
        else:
            refuse_old_schema()
        with explain_errors():
            make_private(settings.DATA_DIR)
        demo_key = "" if settings.OPENAI_BASE_URL else secrets.token_urlsafe()
        listeners = bind_listeners(settings.HOST, settings.PORT, workers, has_demo=bool(demo_key))
        if slot := _slot(listeners):
            Serving(slot, demo_key, self._print_line).run()

    def _print_line(self, line: str) -> None:
        try:
            self.stdout.write(line)
            self.stdout.flush()
        except OSError:  # the reader is gone, as after `| head -1`
            # Otherwise Python would fail when it flushes stdout at exit.
            with Path(os.devnull).open("wb") as nowhere:
                os.dup2(nowhere.fileno(), sys.stdout.fileno())


def _slot(listeners: list[Listeners]) -> WorkerSlot | None:
    """Return what this process should serve, or None if it is a supervisor that is done."""
    if len(listeners) == 1:
        return WorkerSlot(listeners[0])
    _import_shared_modules()
    connection.close()
    if connection.vendor == "postgresql":
        connection.close_pool()  # type: ignore[attr-defined]  # a fork would lack its threads
    supervisor = Supervisor(listeners)
    slot = supervisor.slot()
    if supervisor.has_failed:
        raise CommandError("No worker could start.")
    return slot


def _import_shared_modules() -> None:
    """Import before forking, to share memory. Must not create Twisted's reactor, which can't be."""
    import chatapp.asgi
    import chatapp.server.adapter.http_protocol
    import chatapp.server.adapter.socket_protocol  # noqa: F401

    reverse("chat")
    fragments.warm_up()
