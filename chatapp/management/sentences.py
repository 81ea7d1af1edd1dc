"""Report errors of the database or the data directory as sentences instead of tracebacks."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.core.management.base import CommandError
from django.db import Error, connection

from chatapp.checks.disk import explain_error, find_folder_problem
from chatapp.db.errors import problem_with


@contextmanager
def explain_errors() -> Iterator[None]:
    """Raise `CommandError` with the problem and its remedy for known errors in the block.

    Unknown errors pass unchanged, because their traceback says more.
    """
    try:
        yield
    except Error as error:
        if problem := problem_with(connection, error):
            message = f"The database can't be used: {problem.finding}.\n{problem.remedy}"
            raise CommandError(message) from error
        raise
    except OSError as error:
        directory = settings.DATA_DIR
        if directory not in (path := Path(error.filename or ""), *path.parents):
            raise
        problem = find_folder_problem(directory) or explain_error(error, directory)
        message = f"DATA_DIR can't be used: {problem.finding}.\n{problem.remedy}"
        raise CommandError(message) from error
