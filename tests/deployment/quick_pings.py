"""`manage.py serve` pinging as often as Daphne can: `python -m tests.deployment.quick_pings`."""

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import twisted.internet.main
from django.core.management import execute_from_command_line

install: Callable[[Any], None] = twisted.internet.main.installReactor


def install_and_quicken(reactor: Any) -> None:
    install(reactor)
    # Imported only now, since it uses the installed reactor.
    import daphne.server

    daphne.server.Server = partial(daphne.server.Server, ping_interval=1)


if __name__ == "__main__":
    twisted.internet.main.installReactor = install_and_quicken
    execute_from_command_line([sys.argv[0], "serve"])
