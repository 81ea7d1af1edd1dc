"""What is done in this room, in the words of the audit log."""

from django.db.models import Model
from django.http import HttpRequest

from chatapp.models import User, audit


def record(request: HttpRequest, action: str, about: Model, **detail: object) -> None:
    """In the transaction of what is done; what this can't write is not done."""
    assert isinstance(request.user, User)
    audit.record(action, actor=request.user, about=about, detail=detail)
