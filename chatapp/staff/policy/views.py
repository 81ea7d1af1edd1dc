"""The page where administrators set what reviewers may read."""

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
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
    """Show the policy and its history, and set a new one, which applies to chats started later."""
    assert isinstance(request.user, User)
    current = ReviewPolicy.now()
    initial = {
        "scope": current.scope,
        "names_reader": current.names_reader,
        "hides_names": "yes" if current.hides_names else "",
    }
    form = PolicyForm(request.POST or None, initial=initial)
    if form.is_valid():
        new_policy = form.save(commit=False)
        if not new_policy.is_like(current):
            new_policy.set_by = request.user
            with transaction.atomic():
                new_policy.save()
                record(
                    request,
                    "policy.changed",
                    new_policy,
                    before=str(current),
                    after=str(new_policy),
                )
            worker().policy_changed()
            messages.success(request, "Policy saved. It applies to chats started from now on.")
        return redirect(f"{reverse('policy')}#said")
    context = {"form": form, "timeline": ReviewPolicy.timeline()}
    return render(request, "policy/policy.html", context)
