"""The Privacy page: who may read a person's chats, and what staff opened and did."""

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.defaultfilters import filesizeformat
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from chatapp.db.primary_keys import parse_pk
from chatapp.models import Retention, ReviewRule, User
from chatapp.models.conversations.chats.folders import TRASH_DAYS
from chatapp.models.library.file_sets import sum_stored_bytes
from chatapp.staff.privacy import queries


@require_GET
@never_cache
@login_required
def privacy(request: HttpRequest) -> HttpResponse:
    assert isinstance(request.user, User)
    before = parse_pk(request.GET.get("before", ""))  # an event's sequence number
    accesses, has_older = queries.staff_accesses(request.user, before or None)
    context = {
        "looks": accesses,
        "has_older": has_older,
        "is_first": not before,
        "lists": queries.count_list_viewings(request.user),
        "reviewers": queries.reviewers(),
        "rules": ReviewRule.objects.filter(is_on=True).count(),
        "policies": queries.load_policies(request.user),
        "retention": Retention.now(),
        "trash_days": TRASH_DAYS,
        "file_sizes": _file_sizes(request.user),
        "is_held": request.user.legal_holds.living().exists(),
    }
    return render(request, "privacy/privacy.html", context)


def _file_sizes(person: User) -> list[str]:
    """Return what the person's files take up, if anything, and may take up, in words.

    Sizes are written as in the refusal of an upload; Jinja's filter counts in thousands.
    """
    used, allowed = sum_stored_bytes(person), settings.CHATAPP_FILE_BYTES_PER_PERSON
    return [filesizeformat(used), filesizeformat(allowed)] if used else []
