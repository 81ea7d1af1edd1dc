"""Changes to one person, from the sections of their page; each asks for confirmation first.

A change runs in a transaction. It returns what to say in its section, or a function that is called
after the transaction and returns that, or a page.
"""

from collections.abc import Callable
from functools import partial

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
from chatapp.chat.queries import parse_uuid
from chatapp.db.primary_keys import parse_pk
from chatapp.db.retry import retry_on_integrity_error
from chatapp.models import LegalHold, Refused, User
from chatapp.models.accounts.users import LAST_ADMINISTRATOR
from chatapp.models.policies.legal_holds import NO_HOLD
from chatapp.models.review.saved_views import rename
from chatapp.staff.people.forms import GroupsForm, HoldForm, NameForm, RolesForm
from chatapp.staff.people.log import record
from chatapp.staff.people.views import person_page

ChangeResult = str | Callable[[], HttpResponse | str]

ROLES = {
    "Administrator": "an administrator",
    "Reviewer": "a reviewer",
    "Member": "a member",
}


@require_POST
@administrators_only
@retry_on_integrity_error
def change(request: HttpRequest, pk: int, what: str) -> HttpResponse:
    apply = CHANGES.get(what)
    if apply is None:
        raise Http404("There is no such change.")
    person = get_object_or_404(User, pk=pk)
    section = SECTIONS.get(what, what)
    back = f"{reverse('person', args=[pk])}#{section}"
    if not is_confirmed(request):
        messages.info(request, "Nothing was changed yet. Confirm it is you, then try again.")
        return ask_to_confirm(back)
    try:
        with transaction.atomic():
            done = apply(request, person)
    except Refused as refused:
        messages.error(request, str(refused), extra_tags=section)
        return redirect(back)
    answer = done() if callable(done) else done
    if isinstance(answer, str):
        messages.success(request, answer, extra_tags=section)
        return redirect(back)
    return answer


def _change_name(request: HttpRequest, person: User) -> ChangeResult:
    form = NameForm(request.POST, instance=person)
    if not form.is_valid():
        return lambda: person_page(request, User.objects.get(pk=person.pk), name_form=form)
    stored = User.objects.select_for_update(no_key=True).get(pk=person.pk)
    form.save()
    if stored.username != person.username:
        rename(stored.username, person.username)
    before = {name: form.initial[name] for name in form.changed_data}
    after = {name: form.cleaned_data[name] for name in form.changed_data}
    record(request, "person.changed", person, before=before, after=after)
    return "Saved."


def _change_roles(request: HttpRequest, person: User) -> str:
    assert isinstance(request.user, User)
    form = RolesForm(request.POST)
    form.is_valid()  # always: it has only checkboxes
    before = person.roles
    person.set_roles(**form.cleaned_data, given_by=request.user)
    record(request, "role.changed", person, before=before, after=person.roles)
    return f"{person.username} is now {' and '.join(ROLES[role] for role in person.roles)}."


def _change_groups(request: HttpRequest, person: User) -> str:
    form = GroupsForm(request.POST)
    if not form.is_valid():
        raise Refused("That group is not there any more. Nothing was changed.")
    chosen: list[Group] = list(form.cleaned_data["groups"])
    before = sorted(group.name for group in person.groups.all())
    person.groups.set(chosen)
    after = sorted(group.name for group in chosen)
    record(request, "person.changed", person, before=before, after=after)
    return "Saved."


def _sign_out(request: HttpRequest, person: User) -> str:
    """Sign out the posted device, or all devices without one."""
    if device := parse_pk(request.POST.get("device", "")):
        person.devices.filter(pk=device).sign_out()
        record(request, "sessions.ended", person, which="one device")
        return "Signed out that device."
    person.devices.all().sign_out()
    record(request, "sessions.ended", person, which="all")
    return f"Signed out {person.username} everywhere."


def _revoke_token(request: HttpRequest, person: User) -> str:
    pk = parse_uuid(request.POST.get("token", ""))
    token = person.access_tokens.filter(pk=pk).first() if pk else None
    if token is None:
        raise Refused("That token is not there any more.")
    token.delete()
    record(request, "token.revoked", person)
    return "Revoked that token."


def _make_reset_link(request: HttpRequest, person: User) -> ChangeResult:
    if not person.is_active:
        raise Refused("This account is deactivated. Activate it first.")
    record(request, "password.link_made", person)
    return partial(_send_link, request, person)


def _send_link(request: HttpRequest, person: User) -> HttpResponse | str:
    """Email a link to set a new password, or show it once if that is not possible."""
    link = links.password_link(request, person)
    is_mailed = bool(links.sends_mail() and person.email)
    if is_mailed and links.send(
        "password", person.email, "A new password", person=person, link=link
    ):
        return f"A link to set a new password was sent to {person.email}."
    context = {"links": [links.LinkToShare(link, has_failed=is_mailed)], "person": person}
    return render(request, "people/link.html", context)


def _remove_second_factor(request: HttpRequest, person: User) -> str:
    """Remove a lost second factor; people remove their own on their Second factor page."""
    if person == request.user:
        raise Refused("Remove your own on your Second factor page.")
    if not remove_second_factors(person):
        raise Refused(f"{person.username} has no second factor.")
    record(request, "factor.removed", person)
    return f"{person.username} signs in with only a password until they add a second factor."


def _switch_active(request: HttpRequest, person: User) -> str:
    is_active = request.POST.get("active") == "on"
    if not is_active and User.leaves_no_administrator([person.pk]):
        raise Refused(LAST_ADMINISTRATOR)
    person.is_active = is_active
    person.save(update_fields=["is_active"])
    record(request, "person.activated" if is_active else "person.deactivated", person)
    done = "can sign in again" if is_active else "is deactivated; their chats are kept"
    return f"{person.username} {done}."


def _begin_hold(request: HttpRequest, person: User) -> ChangeResult:
    assert isinstance(request.user, User)
    form = HoldForm(request.POST, person=person)
    if not form.is_valid():
        return lambda: person_page(request, person, hold_form=form)
    fields = form.cleaned_data
    hold = LegalHold.begin(person, fields["conversation"], fields["reason"], request.user)
    record(request, "hold.set", hold.target, hold=hold.pk, reason=hold.reason)
    return "The legal hold is set: nothing under it can be erased."


def _end_hold(request: HttpRequest, person: User) -> str:
    assert isinstance(request.user, User)
    hold = person.legal_holds.filter(pk=parse_pk(request.POST.get("hold", ""))).first()
    if hold is None:
        raise Refused(NO_HOLD)
    hold.end(request.user)
    record(request, "hold.ended", hold.target, hold=hold.pk)
    return "The legal hold has ended."


CHANGES: dict[str, Callable[[HttpRequest, User], ChangeResult]] = {
    "name": _change_name,
    "roles": _change_roles,
    "groups": _change_groups,
    "sign-out": _sign_out,
    "revoke-token": _revoke_token,
    "reset-link": _make_reset_link,
    "second-factor": _remove_second_factor,
    "active": _switch_active,
    "hold": _begin_hold,
    "end-hold": _end_hold,
}
SECTIONS = {
    "end-hold": "hold",
    "revoke-token": "tokens",
}  # of changes that are not named like theirs
