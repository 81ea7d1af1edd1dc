"""Retries once when another request changed the database between a check and a save."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from django.db import IntegrityError

Params = ParamSpec("Params")
Result = TypeVar("Result")


def retry_on_integrity_error(view: Callable[Params, Result]) -> Callable[Params, Result]:
    """Retry a view or function once on `IntegrityError`; it must save in one transaction.

    Between the check and the save, another request may take the same name or delete a chosen row,
    for which the database only raises `IntegrityError`. On the second run a form shows the error at
    its field.
    """

    @wraps(view)
    def retrying(*args: Params.args, **kwargs: Params.kwargs) -> Result:
        try:
            return view(*args, **kwargs)
        except IntegrityError:
            return view(*args, **kwargs)

    return retrying
