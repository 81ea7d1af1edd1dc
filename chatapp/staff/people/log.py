"""Audit events of the People pages."""

from django.db.models import Model
from django.http import HttpRequest

from chatapp.models import User, audit


def record(request: HttpRequest, action: str, about: Model, **detail: object) -> None:
    """Record an event; call it in the change's transaction, so that neither happens alone."""
    assert isinstance(request.user, User)
    audit.record(action, actor=request.user, about=about, detail=detail)
