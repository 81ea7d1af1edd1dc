"""What goes wrong with the database or the data directory, told by commands as a sentence."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.core.management.base import CommandError
from django.db import Error, connection

from chatapp.checks.disk import trouble_of_error, trouble_of_folder
from chatapp.models.troubles import trouble_with


@contextmanager
def in_sentences() -> Iterator[None]:
    """Raises `CommandError`, with what is wrong and the cure, where the body meets such an error.

    What is none of these passes, for its traceback tells more.
    """
    try:
        yield
    except Error as error:
        if trouble := trouble_with(connection, error):
            told = f"The database can't be used: {trouble.found}.\n{trouble.cure}"
            raise CommandError(told) from error
        raise
    except OSError as error:
        directory = settings.DATA_DIR
        if directory not in (path := Path(error.filename or ""), *path.parents):
            raise
        trouble = trouble_of_folder(directory) or trouble_of_error(error, directory)
        told = f"DATA_DIR can't be used: {trouble.found}.\n{trouble.cure}"
        raise CommandError(told) from error
