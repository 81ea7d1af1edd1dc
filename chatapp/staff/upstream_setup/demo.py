"""Turns the built-in demo off when the first real upstream is connected."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest

from chatapp.demo.suggestions import SUGGESTIONS
from chatapp.models import Installation, Suggestion, Upstream
from chatapp.staff.people.log import record

DEMO_TURNED_OFF = "The built-in demo is now turned off. You can turn it back on."


def switch_demo_off(request: HttpRequest) -> None:
    """Turn the demo off if the first real upstream is connected in this transaction.

    Its suggestions stay, as the site's own, unless there are others.
    """
    if demo := Upstream.switch_demo_off():
        detail: dict[str, Any] = {"before": {"enabled": True}, "after": {"enabled": False}}
        record(request, "upstream.changed", demo, **detail)
        if not Suggestion.list_all():
            Suggestion.replace(SUGGESTIONS)
            detail = {"before": {"suggestions": []}, "after": {"suggestions": list(SUGGESTIONS)}}
            record(request, "installation.changed", Installation.load(), **detail)
        messages.success(request, DEMO_TURNED_OFF)
