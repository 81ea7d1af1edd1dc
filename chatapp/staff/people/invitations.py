"""Invitations, and the settings for who may create an account."""

from collections.abc import Sequence

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from chatapp.accounts import links
from chatapp.accounts.staff import administrators_only, confirmed_only
from chatapp.db.retry import retry_on_integrity_error
from chatapp.models import Installation, Invitation, User
from chatapp.models.platform import branding
from chatapp.staff.people.forms import AccessForm, InvitationForm
from chatapp.staff.people.log import record

MAX_INVITATIONS = 100  # the newest invitations


@require_http_methods(["GET", "POST"])
@administrators_only
@confirmed_only
@retry_on_integrity_error
def invitations(request: HttpRequest) -> HttpResponse:
    assert isinstance(request.user, User)
    form = InvitationForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with transaction.atomic():
            made = form.make(request.user)
            for invitation, _ in made:
                group = invitation.group.name if invitation.group else None
                record(request, "person.invited", invitation, roles=invitation.roles, group=group)
        return _deliver_invitations(request, made)
    newest = Invitation.objects.select_related("made_by", "group").order_by("-pk")[:MAX_INVITATIONS]
    context = {
        "form": form,
        "invitations": newest,
        "installation": Installation.load(),
        "sends_mail": links.sends_mail(),
    }
    return render(request, "people/invitations.html", context)


def _deliver_invitations(
    request: HttpRequest, made: Sequence[tuple[Invitation, str]]
) -> HttpResponse:
    """Send the links by email if possible, and show those that have to be shared otherwise."""
    subject = f"You are invited to {branding.get_branding().name}"
    sent, to_share = [], []
    for invitation, token in made:
        link = links.absolute(request, reverse("accept-invitation", args=[token]))
        is_mailed = bool(links.sends_mail() and invitation.address)
        if is_mailed and links.send(
            "invitation", invitation.address, subject, link=link, invitation=invitation
        ):
            sent.append(invitation.address)
        else:
            to_share.append(links.LinkToShare(link, invitation.address, has_failed=is_mailed))
    if sent:
        whom = sent[0] if len(sent) == 1 else f"{len(sent)} people"
        messages.success(request, f"The invitation was sent to {whom}.")
    if not to_share:
        return redirect("invitations")
    return render(request, "people/link.html", {"links": to_share, "person": None})


@require_POST
@administrators_only
@confirmed_only
def renew(request: HttpRequest, pk: int) -> HttpResponse:
    """Replace an invitation's link by a new one."""
    assert isinstance(request.user, User)
    invitation = get_object_or_404(Invitation, pk=pk)
    with transaction.atomic():
        token = invitation.renew(request.user)
        if token:
            record(request, "invitation.renewed", invitation, roles=invitation.roles)
    if not token:
        messages.error(request, "This invitation was used or revoked. Make a new one.")
        return redirect("invitations")
    return _deliver_invitations(request, [(invitation, token)])


@require_POST
@administrators_only
def revoke(request: HttpRequest, pk: int) -> HttpResponse:
    """Revoke an invitation; this needs no confirmation, since it gives no rights."""
    invitation = get_object_or_404(Invitation, pk=pk)
    with transaction.atomic():
        invitation.revoke()
        record(request, "invitation.revoked", invitation)
    messages.success(request, "The invitation was revoked.")
    return redirect("invitations")


@require_http_methods(["GET", "POST"])
@administrators_only
@confirmed_only
def access(request: HttpRequest) -> HttpResponse:
    """Set who may create an account, and whether staff must have a second factor."""
    form = AccessForm(request.POST or None, instance=Installation.load())
    if request.method == "POST" and form.is_valid():
        with transaction.atomic():
            after = {name: form.cleaned_data[name] for name in form.changed_data}
            before = {name: form.initial[name] for name in form.changed_data}
            record(request, "installation.changed", form.save(), before=before, after=after)
        messages.success(request, "Saved.")
        return redirect("people-access")
    context = {"form": form, "sends_mail": links.sends_mail()}
    return render(request, "people/access.html", context)
