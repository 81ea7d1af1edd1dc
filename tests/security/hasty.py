"""`manage.py serve` with very short timeouts: `python -m tests.security.hasty`."""

import sys
from collections.abc import Callable
from typing import Any

import twisted.internet.main
from django.core.management import execute_from_command_line

SECONDS = 0.5
install: Callable[[Any], None] = twisted.internet.main.installReactor


def install_and_hurry(reactor: Any) -> None:
    install(reactor)
    # Imported only now, since it uses the installed reactor.
    from chatapp.server import http_protocol

    for name in ("HEAD", "BODY", "IDLE", "TAKING", "LINGER"):
        setattr(http_protocol, f"{name}_SECONDS", SECONDS)
    http_protocol.SLOWEST_BYTES_A_SECOND = 10**9
    http_protocol.BoundedChannel.abortTimeout = SECONDS


if __name__ == "__main__":
    twisted.internet.main.installReactor = install_and_hurry
    execute_from_command_line([sys.argv[0], "serve"])
