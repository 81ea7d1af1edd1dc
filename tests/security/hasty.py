"""`manage.py serve` with very short timeouts: `python -m tests.security.hasty`."""

import sys

from django.core.management import execute_from_command_line

from chatapp.server.adapter import http_protocol

SECONDS = 0.5


if __name__ == "__main__":
    for name in ("HEAD", "BODY", "IDLE", "TAKING", "LINGER"):
        setattr(http_protocol, f"{name}_SECONDS", SECONDS)
    http_protocol.SLOWEST_BYTES_A_SECOND = 10**9
    http_protocol.BoundedChannel.abortTimeout = SECONDS
    execute_from_command_line([sys.argv[0], "serve"])
