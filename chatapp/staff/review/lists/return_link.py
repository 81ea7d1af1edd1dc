"""The filtered list, and its page, from which a reviewer came to a conversation.

It travels, signed, in the query of a conversation's page. Stepping through a filter's results
reveals as much as their list does, so only filters whose list is in the audit log are accepted.
"""

from dataclasses import dataclass
from typing import Self
from urllib.parse import urlencode

from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from chatapp.models import Conversation, User
from chatapp.staff.review.finding.criteria import ReviewFilter, Show
from chatapp.staff.review.finding.filters import FilterForm
from chatapp.staff.review.finding.listings import SECONDS
from chatapp.staff.review.lists.pages import Neighbours, find_neighbours

SALT = "chatapp.review.came"
NO_NEIGHBOURS: Neighbours = (None, None)


def build_query(form: FilterForm) -> str:
    """Return the query for the links of a list that has been recorded."""
    list_fields = form.list_query
    if after := form.data.get("after"):
        list_fields["after"] = after
    signed = signing.dumps([form.reviewer.pk, list_fields], salt=SALT, compress=True)
    return f"?{urlencode({'came': signed})}"


@dataclass(frozen=True)
class ReturnLink:
    query: str  # to append to the next page's URL
    list_fields: dict[str, str]  # the list's fields
    criteria: ReviewFilter | None  # None if the query has expired or is no longer valid

    @classmethod
    def of(cls, request: HttpRequest) -> Self:
        assert isinstance(request.user, User)
        unfiltered = cls("", {}, ReviewFilter(request.user))
        signed = request.GET.get("came", "")
        try:
            reviewer, list_fields = signing.loads(signed, salt=SALT)
        except signing.BadSignature:
            return unfiltered
        if reviewer != request.user.pk:
            return unfiltered
        form = FilterForm(list_fields, reviewer=request.user)
        is_valid = _is_recent(signed) and form.is_valid()
        return cls(
            f"?{urlencode({'came': signed})}", list_fields, form.criteria if is_valid else None
        )

    @property
    def is_of_queue(self) -> bool:
        return self.criteria is not None and self.criteria.show == Show.QUEUE

    @property
    def list_address(self) -> str:
        return (
            f"{reverse('review')}?{urlencode(self.list_fields)}"
            if self.list_fields
            else reverse("review")
        )

    def find_neighbours(self, conversation: Conversation) -> Neighbours:
        return find_neighbours(conversation, self.criteria) if self.criteria else NO_NEIGHBOURS


def back_to(request: HttpRequest, conversation: object) -> HttpResponse:
    """Redirect to a conversation's page, and keep the list the reviewer came from."""
    address = reverse("review-conversation", args=[conversation])
    return redirect(address + ReturnLink.of(request).query)


def _is_recent(signed: str) -> bool:
    try:
        signing.loads(signed, salt=SALT, max_age=SECONDS)
    except signing.BadSignature:
        return False
    return True
