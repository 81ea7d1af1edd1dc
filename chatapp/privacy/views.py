"""The page that tells a person who may read what they write, and who did."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from chatapp.models import Retention, ReviewRule, User
from chatapp.models.shelves import TRASH_DAYS
from chatapp.privacy import queries

LONGEST_NUMBER = 18  # digits of an event's


@require_GET
@never_cache
@login_required
def privacy(request: HttpRequest) -> HttpResponse:
    assert isinstance(request.user, User)
    before = request.GET.get("before", "")
    is_number = before.isdecimal() and len(before) <= LONGEST_NUMBER
    looks, has_older = queries.looks_at(request.user, int(before) if is_number else None)
    context = {
        "looks": looks,
        "has_older": has_older,
        "is_first": not is_number,
        "lists": queries.lists_since(request.user),
        "reviewers": queries.reviewers(),
        "rules": ReviewRule.objects.filter(is_on=True).count(),
        "policies": queries.policies_of(request.user),
        "retention": Retention.now(),
        "trash_days": TRASH_DAYS,
        "is_held": request.user.legal_holds.living().exists(),
    }
    return render(request, "privacy/privacy.html", context)
