"""The list of people, one person's page, and deleting a person."""

from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from chatapp.accounts.links import sends_mail
from chatapp.accounts.staff import administrators_only, confirmed_only
from chatapp.erasure.people import LastAdministrator, OwnedRows, erase
from chatapp.models import ReviewPolicy, User
from chatapp.models.accounts.users import LAST_ADMINISTRATOR
from chatapp.models.billing.person_usage import PersonUsage
from chatapp.models.billing.quota_usage import quota_usages
from chatapp.models.policies.legal_holds import UnderLegalHold
from chatapp.staff.people.forms import FilterForm, GroupsForm, HoldForm, NameForm
from chatapp.staff.people.log import record
from chatapp.staff.people.queries import SignIn, load_holds, load_page, open_invitations


@require_GET
@administrators_only
def people(request: HttpRequest) -> HttpResponse:
    form = FilterForm(request.GET)
    filters = form.criteria
    listed_people, has_more = load_page(filters)
    next_page = request.GET.copy()
    if has_more:
        next_page["after"] = listed_people[-1].username
    context = {
        "form": form,
        "people": listed_people,
        "following": next_page.urlencode() if has_more else "",
        "invited": open_invitations() if form.is_unused else (),
    }
    return render(request, "people/people.html", context)


@require_GET
@administrators_only
def person(request: HttpRequest, pk: int) -> HttpResponse:
    return person_page(request, get_object_or_404(User, pk=pk))


def person_page(request: HttpRequest, person: User, **forms: Any) -> HttpResponse:
    """Render a person's page; `forms` replaces forms that were invalid."""
    context: dict[str, Any] = {
        "person": person,
        "is_self": person == request.user,
        "name_form": NameForm(instance=person),
        "groups_form": GroupsForm(initial={"groups": person.groups.all()}),
        "claimed": [str(group.group) for group in person.claimed_groups.select_related("group")],
        "devices": list(person.devices.living()),
        "tokens": list(person.access_tokens.all()),
        "this_device": request.session.session_key,
        "sends_mail": sends_mail(),
        "sign_in": SignIn.of(person),
        "meters": quota_usages(person),
        "used": PersonUsage.this_month(person),
        "belongings": OwnedRows.of([person.pk]),
        "policy": ReviewPolicy.now(),
        "hold_form": HoldForm(person=person),
        "holds": load_holds(person),
    }
    return render(request, "people/person.html", context | forms)


@require_http_methods(["GET", "POST"])
@administrators_only
@confirmed_only
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Say what will be deleted, then delete the person and show a report."""
    person = get_object_or_404(User, pk=pk)
    if request.method == "POST":
        name = person.username
        with transaction.atomic():
            record(request, "person.deleted", person)
        try:
            assert isinstance(request.user, User)
            [report] = erase([person], request.user)
        except LastAdministrator:
            messages.error(request, LAST_ADMINISTRATOR)
            return redirect("person", pk)
        except UnderLegalHold as held:
            messages.error(request, str(held))
            return redirect("person", pk)
        if pk == request.user.pk:
            messages.success(request, f"{name} was deleted.")
            return redirect(reverse("account_login"))
        return render(request, "people/erased.html", {"name": name, "report": report})
    context = {
        "person": person,
        "belongings": OwnedRows.of([pk]),
        "is_held": person.legal_holds.living().exists(),
    }
    return render(request, "people/delete.html", context)
