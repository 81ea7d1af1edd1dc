"""Connections to a database that is away."""

import threading

from django.db import DatabaseError

from tests.support.program import WAIT_SECONDS


class Away:
    """It is gone."""

    def cursor(self) -> None:
        raise DatabaseError("gone")

    def close(self) -> None: ...


class Hanging:
    """It says nothing until it is released."""

    def __init__(self) -> None:
        self.answers = threading.Event()

    def cursor(self) -> None:
        self.answers.wait(WAIT_SECONDS)
        raise DatabaseError("late")

    def close(self) -> None: ...
