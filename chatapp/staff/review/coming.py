"""Where a reviewer came from: the list, as it was narrowed there, and the page of it.

The addresses of a conversation's page carry it, signed: to step through what a filter finds tells
as much as its list does, and that this list was asked for is on record.
"""

from dataclasses import dataclass
from typing import Self
from urllib.parse import urlencode

from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from chatapp.models import Conversation, User
from chatapp.staff.review.filters import FilterForm
from chatapp.staff.review.queries import Asked, Neighbours, neighbours_of

SALT = "chatapp.review.came"
SECONDS = 24 * 3600  # for which what is on record holds
NO_NEIGHBOURS: Neighbours = (None, None)


def query_of(form: FilterForm) -> str:
    """What the links of a list carry whose reading is on record; "" where it is not narrowed."""
    shown = form.sent
    if after := form.data.get("after"):
        shown["after"] = after
    if not shown:
        return ""
    came = signing.dumps([form.reviewer.pk, shown], salt=SALT, compress=True)
    return f"?{urlencode({'came': came})}"


@dataclass(frozen=True)
class Came:
    query: str  # of this page's address, for the next one
    shown: dict[str, str]  # by field, as the list was
    asked: Asked | None  # None where that is over

    @classmethod
    def of(cls, request: HttpRequest) -> Self:
        assert isinstance(request.user, User)
        everything = cls("", {}, Asked(request.user))
        sealed = request.GET.get("came", "")
        try:
            reviewer, shown = signing.loads(sealed, salt=SALT)
        except signing.BadSignature:
            return everything
        if reviewer != request.user.pk:
            return everything
        form = FilterForm(shown, reviewer=request.user)
        is_known = _is_recent(sealed) and form.is_valid()
        return cls(f"?{urlencode({'came': sealed})}", shown, form.asked if is_known else None)

    @property
    def list_address(self) -> str:
        return f"{reverse('review')}?{urlencode(self.shown)}" if self.shown else reverse("review")

    def neighbours_of(self, conversation: Conversation) -> Neighbours:
        return neighbours_of(conversation, self.asked) if self.asked else NO_NEIGHBOURS


def back_to(request: HttpRequest, conversation: object) -> HttpResponse:
    """To the page of a conversation, as the reviewer came to it."""
    address = reverse("review-conversation", args=[conversation])
    return redirect(address + Came.of(request).query)


def _is_recent(sealed: str) -> bool:
    try:
        signing.loads(sealed, salt=SALT, max_age=SECONDS)
    except signing.BadSignature:
        return False
    return True
