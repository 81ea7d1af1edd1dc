"""Fake connections to a database that is down."""

import threading

from django.db import DatabaseError

from tests.support.program import WAIT_SECONDS


class Away:
    """Every query fails."""

    def cursor(self) -> None:
        raise DatabaseError("gone")

    def close(self) -> None: ...


class Hanging:
    """Every query hangs until `answers` is set, then fails."""

    def __init__(self) -> None:
        self.answers = threading.Event()

    def cursor(self) -> None:
        self.answers.wait(WAIT_SECONDS)
        raise DatabaseError("late")

    def close(self) -> None: ...
