#!/usr/bin/env python
"""Django's command line for chatapp; `manage.py serve` starts the app."""

import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line

if __name__ == "__main__":
    # What the app writes is its user's alone; what browsers are served may be anyone's.
    os.umask(0o022 if "collectstatic" in sys.argv[1:2] else 0o077)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatapp.settings")
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:  # a sentence that says what to set
        sys.exit(str(error))
