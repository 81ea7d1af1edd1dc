"""`manage.py serve`: the one way in, of one process or of several."""

import os
import secrets
import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection
from django.urls import reverse

from chatapp.management.sentences import in_sentences
from chatapp.management.serving import Serving
from chatapp.management.supervisor import Post, Supervisor
from chatapp.management.upgrading import upgrade
from chatapp.rendering import fragments
from chatapp.server.data_dir import make_private
from chatapp.server.listening import Doors, doors_of


class Command(BaseCommand):
    help = "Serve the app on HOST:PORT until SIGTERM or SIGINT; running replies are saved."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--upgrade",
            action="store_true",
            help="First do what `manage.py upgrade` does, where there is something to be done.",
        )
        parser.add_argument(
            "--workers",
            type=int,
            default=settings.WORKERS,
            help="How many processes serve, one for each core that they may have (WORKERS, or 1).",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        workers: int = options["workers"]
        if workers < 1:
            raise CommandError(f"--workers {workers} would serve nobody: give 1 or more.")
        if workers > 1 and not settings.REDIS_URL:
            raise CommandError(
                f"{workers} workers hear each other by Redis. Set REDIS_URL, for example "
                "redis://localhost:6379/0; or serve with one worker."
            )
        if options["upgrade"]:
            upgrade()
        with in_sentences():
            make_private(settings.DATA_DIR)
        demo_key = "" if settings.OPENAI_BASE_URL else secrets.token_urlsafe()
        doors = doors_of(settings.HOST, settings.PORT, workers, has_demo=bool(demo_key))
        if post := _post(doors):
            Serving(post, demo_key, self._say).run()

    def _say(self, line: str) -> None:
        try:
            self.stdout.write(line)
            self.stdout.flush()
        except OSError:  # who read it is gone, as after `| head -1`
            # Or Python would fail on it at its end.
            with Path(os.devnull).open("wb") as nowhere:
                os.dup2(nowhere.fileno(), sys.stdout.fileno())


def _post(doors: list[Doors]) -> Post | None:
    """What this process is to do, or the one that it became; None where it is done."""
    if len(doors) == 1:
        return Post(doors[0])
    _import_what_all_need()
    connection.close()
    if connection.vendor == "postgresql":
        connection.close_pool()  # type: ignore[attr-defined]  # whose threads no fork has
    supervisor = Supervisor(doors)
    post = supervisor.post()
    if supervisor.has_failed:
        raise CommandError("No worker could start.")
    return post


def _import_what_all_need() -> None:
    """So that they share it. None of it may make Twisted's reactor, which is of one process."""
    import chatapp.asgi
    import chatapp.server.http_protocol
    import chatapp.server.socket_protocol  # noqa: F401

    reverse("chat")
    fragments.warm_up()
