"""Futures that are fulfilled by work in another thread."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def fulfil(future: "Future[T]", work: Callable[[], T]) -> None:
    """Do the work and set its result or its error, unless the future was cancelled before."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = work()
    except BaseException as error:  # noqa: BLE001 - raised where the result is waited for
        future.set_exception(error)
    else:
        future.set_result(result)
