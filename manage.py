#!/usr/bin/env python
"""Django's command line for chatapp; `manage.py serve` starts the app."""

import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.umask(0o077)  # what the app writes is its user's alone
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatapp.settings")
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:  # a sentence that says what to set
        sys.exit(str(error))
