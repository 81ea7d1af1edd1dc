"""`manage.py serve` pinging every second: `python -m tests.deployment.quick_pings`."""

import sys

from django.core.management import execute_from_command_line

from chatapp.server import adapter

if __name__ == "__main__":
    adapter.PING_SECONDS = 1
    execute_from_command_line([sys.argv[0], "serve"])
