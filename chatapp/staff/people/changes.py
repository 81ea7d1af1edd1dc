"""Changes to one person, from the buttons on their page; each asks for confirmation first."""

from collections.abc import Callable

from django.contrib import messages
from django.contrib.auth.models import Group
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from chatapp.accounts import links
from chatapp.accounts.confirmation import ask_to_confirm, is_confirmed
from chatapp.accounts.second_factor import remove_second_factors
from chatapp.accounts.staff import administrators_only
from chatapp.db.primary_keys import parse_pk
from chatapp.db.retry import retry_on_integrity_error
from chatapp.models import LegalHold, Refused, User
from chatapp.models.accounts.users import LAST_ADMINISTRATOR
from chatapp.models.policies.legal_holds import NO_HOLD
from chatapp.staff.people.forms import GroupsForm, HoldForm, NameForm, RolesForm
from chatapp.staff.people.log import record
from chatapp.staff.people.views import person_page


@require_POST
@administrators_only
@retry_on_integrity_error
def change(request: HttpRequest, pk: int, what: str) -> HttpResponse:
    apply = CHANGES.get(what)
    if apply is None:
        raise Http404("There is no such change.")
    person = get_object_or_404(User, pk=pk)
    back = reverse("person", args=[pk])
    if not is_confirmed(request):
        messages.info(request, "Nothing was changed yet. Confirm it is you, then try again.")
        return ask_to_confirm(back)
    try:
        with transaction.atomic():
            return apply(request, person) or redirect(back)
    except Refused as refused:
        messages.error(request, str(refused))
        return redirect(back)


def _name(request: HttpRequest, person: User) -> HttpResponse | None:
    form = NameForm(request.POST, instance=person)
    if not form.is_valid():
        return person_page(request, User.objects.get(pk=person.pk), name_form=form)
    form.save()
    before = {name: form.initial[name] for name in form.changed_data}
    after = {name: form.cleaned_data[name] for name in form.changed_data}
    record(request, "person.changed", person, before=before, after=after)
    messages.success(request, "Saved.")
    return None


def _roles(request: HttpRequest, person: User) -> None:
    assert isinstance(request.user, User)
    form = RolesForm(request.POST)
    form.is_valid()  # always: it has only checkboxes
    before = person.roles
    person.take_roles(**form.cleaned_data, given_by=request.user)
    record(request, "role.changed", person, before=before, after=person.roles)
    messages.success(request, f"{person.username}: {', '.join(person.roles)}.")


def _groups(request: HttpRequest, person: User) -> None:
    form = GroupsForm(request.POST)
    if not form.is_valid():
        raise Refused("That group is not there any more. Nothing was changed.")
    chosen: list[Group] = list(form.cleaned_data["groups"])
    before = sorted(group.name for group in person.groups.all())
    person.groups.set(chosen)
    after = sorted(one.name for one in chosen)
    record(request, "person.changed", person, before=before, after=after)
    messages.success(request, f"Saved the groups of {person.username}.")


def _sign_out(request: HttpRequest, person: User) -> None:
    """Sign out the posted device, or all devices without one."""
    if device := parse_pk(request.POST.get("device", "")):
        person.devices.filter(pk=device).sign_out()
        record(request, "sessions.ended", person, which="one device")
        messages.success(request, "Signed out that device.")
        return
    person.devices.all().sign_out()
    record(request, "sessions.ended", person, which="all")
    messages.success(request, f"Signed out {person.username} everywhere.")


def _reset_link(request: HttpRequest, person: User) -> HttpResponse | None:
    """Email a link to set a new password, or show it once if that is not possible."""
    if not person.is_active:
        raise Refused("This account is deactivated. Activate it first.")
    record(request, "password.link_made", person)
    link = links.password_link(request, person)
    is_mailed = bool(links.sends_mail() and person.email)
    if is_mailed and links.send(
        "password", person.email, "A new password", person=person, link=link
    ):
        messages.success(request, f"A link to set a new password was sent to {person.email}.")
        return None
    context = {"links": [links.LinkToShare(link, has_failed=is_mailed)], "person": person}
    return render(request, "people/link.html", context)


def _second_factor(request: HttpRequest, person: User) -> None:
    """Remove a lost second factor; people remove their own on their Second factor page."""
    if person == request.user:
        raise Refused("Remove your own on your Second factor page.")
    if not remove_second_factors(person):
        raise Refused(f"{person.username} has no second factor.")
    record(request, "factor.removed", person)
    messages.success(
        request,
        f"{person.username} signs in with only a password until they add a second factor.",
    )


def _active(request: HttpRequest, person: User) -> None:
    is_active = request.POST.get("active") == "on"
    if not is_active and User.leaves_no_administrator([person.pk]):
        raise Refused(LAST_ADMINISTRATOR)
    person.is_active = is_active
    person.save(update_fields=["is_active"])
    record(request, "person.activated" if is_active else "person.deactivated", person)
    done = "can sign in again" if is_active else "is deactivated; their chats are kept"
    messages.success(request, f"{person.username} {done}.")


def _hold(request: HttpRequest, person: User) -> HttpResponse | None:
    assert isinstance(request.user, User)
    form = HoldForm(request.POST, person=person)
    if not form.is_valid():
        return person_page(request, person, hold_form=form)
    wanted = form.cleaned_data
    hold = LegalHold.begin(person, wanted["conversation"], wanted["reason"], request.user)
    record(request, "hold.set", hold.target, hold=hold.pk, reason=hold.reason)
    messages.success(request, "The legal hold is set: nothing under it can be erased.")
    return None


def _end_hold(request: HttpRequest, person: User) -> None:
    assert isinstance(request.user, User)
    hold = person.legal_holds.filter(pk=parse_pk(request.POST.get("hold", ""))).first()
    if hold is None:
        raise Refused(NO_HOLD)
    hold.end(request.user)
    record(request, "hold.ended", hold.target, hold=hold.pk)
    messages.success(request, "The legal hold has ended.")


CHANGES: dict[str, Callable[[HttpRequest, User], HttpResponse | None]] = {
    "name": _name,
    "roles": _roles,
    "groups": _groups,
    "sign-out": _sign_out,
    "reset-link": _reset_link,
    "second-factor": _second_factor,
    "active": _active,
    "hold": _hold,
    "end-hold": _end_hold,
}
