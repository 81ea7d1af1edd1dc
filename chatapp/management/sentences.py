"""Report errors of the database or the data directory as sentences instead of tracebacks."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.core.management.base import CommandError
from django.db import Error, connection

from chatapp.checks.disk import problem_of_error, problem_of_folder
from chatapp.db.errors import problem_with


@contextmanager
def in_sentences() -> Iterator[None]:
    """Raise `CommandError` with the problem and its remedy for known errors in the block.

    Unknown errors pass unchanged, because their traceback says more.
    """
    try:
        yield
    except Error as error:
        if problem := problem_with(connection, error):
            message = f"The database can't be used: {problem.found}.\n{problem.remedy}"
            raise CommandError(message) from error
        raise
    except OSError as error:
        directory = settings.DATA_DIR
        if directory not in (path := Path(error.filename or ""), *path.parents):
            raise
        problem = problem_of_folder(directory) or problem_of_error(error, directory)
        message = f"DATA_DIR can't be used: {problem.found}.\n{problem.remedy}"
        raise CommandError(message) from error
