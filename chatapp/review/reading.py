"""One conversation, as a reviewer reads it: still to come."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from chatapp.accounts.staff import reviewers_only


@reviewers_only
def conversation(request: HttpRequest, pk: UUID) -> HttpResponse:
    return render(request, "staff/_page.html")
