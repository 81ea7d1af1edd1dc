"""The page on which an administrator says what reviewers may read."""

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from chatapp.accounts.staff import administrators_only, confirmed_only
from chatapp.models import ReviewPolicy, User
from chatapp.realtime.worker import worker
from chatapp.staff.people.log import record
from chatapp.staff.policy.forms import PolicyForm


@require_http_methods(["GET", "POST"])
@administrators_only
@confirmed_only
def policy(request: HttpRequest) -> HttpResponse:
    """A new policy holds for what is begun from then on."""
    assert isinstance(request.user, User)
    present = ReviewPolicy.now()
    given = {
        "scope": present.scope,
        "names_reader": present.names_reader,
        "hides_names": "yes" if present.hides_names else "",
    }
    form = PolicyForm(request.POST or None, initial=given)
    if form.is_valid():
        wanted = form.save(commit=False)
        if not wanted.is_like(present):
            wanted.set_by = request.user
            with transaction.atomic():
                wanted.save()
                record(request, "policy.changed", wanted, before=str(present), after=str(wanted))
            worker().policy_changed()
            messages.success(
                request, "The policy is set. It holds for chats that are begun from now."
            )
        return redirect("policy")
    context = {"form": form, "timeline": ReviewPolicy.timeline()}
    return render(request, "policy/policy.html", context)
