"""Asking first before a verdict on chats that the reviewer has never opened."""

from collections.abc import Collection
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from chatapp.models import Opening, User
from chatapp.models.review.readable import reviewable

ANSWER = "unopened"  # the field that the question's form adds: all or opened
ALL, OPENED = "all", "opened"


def find_unopened(keys: Collection[UUID], reviewer: User) -> set[UUID]:
    """Return those of the readable conversations that the reviewer has never opened."""
    existing = reviewable().filter(pk__in=keys).order_by()
    return set(existing.values_list("pk", flat=True)) - Opening.opened_among(keys, reviewer)


def render_question(request: HttpRequest, unopened: int, total: int, back: str) -> HttpResponse:
    """Return the page whose form sends the request again with the answer."""
    sent = [
        (name, value)
        for name, values in request.POST.lists()
        if name != "csrfmiddlewaretoken"
        for value in values
    ]
    context = {
        "sent": sent,
        "action": request.get_full_path(),
        "back": back,
        "unopened": unopened,
        "total": total,
    }
    return render(request, "review/unopened.html", context)
