"""Forms whose answer is another by the time that what they say is stored."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from django.db import IntegrityError

Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")


def once_more(view: Callable[Asked, Answer]) -> Callable[Asked, Answer]:
    """A view that checks a form and stores what it says in one transaction.

    Between the two another may give the same name, or delete what was chosen, of which the database
    says nothing but that it can't be. Checked once more, the form says it at its field.
    """

    @wraps(view)
    def checked(*asked: Asked.args, **named: Asked.kwargs) -> Answer:
        try:
            return view(*asked, **named)
        except IntegrityError:
            return view(*asked, **named)

    return checked
