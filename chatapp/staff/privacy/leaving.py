"""The page where people erase their own account and all of their data."""

from typing import Any

from django import forms
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from chatapp.accounts.confirmation import ask_to_confirm, is_confirmed
from chatapp.erasure.people import LastAdministrator, OwnedRows, erase
from chatapp.erasure.report import Report
from chatapp.models import User, audit
from chatapp.models.policies.legal_holds import UnderLegalHold

LAST = "You are the last administrator. Make somebody else an administrator first."


class ErasureForm(forms.Form):
    name = forms.CharField(
        label="Your username",
        widget=forms.TextInput(attrs={"autocomplete": "off", "dir": "auto"}),
        help_text="Type it to confirm that you want to erase everything.",
        error_messages={"required": "Type your username."},
    )

    def __init__(self, *arguments: Any, person: User, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._person = person

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if name.casefold() != self._person.get_username().casefold():
            raise ValidationError("This is not your username. Type the name that you sign in with.")
        return name


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
def erase_all(request: HttpRequest) -> HttpResponse:
    """Say what will be erased, then erase it and show a report on what was deleted."""
    assert isinstance(request.user, User)
    if not is_confirmed(request):
        return ask_to_confirm(reverse("erase-own"))
    person = request.user
    form = ErasureForm(request.POST or None, person=person)
    if form.is_valid():
        try:
            report = _erase(person)
        except LastAdministrator:
            form.add_error(None, LAST)
        except UnderLegalHold as held:
            form.add_error(None, str(held))
        else:
            logout(request)
            return render(request, "privacy/erased.html", {"report": report})
    context = {
        "form": form,
        "belongings": OwnedRows.of([person.pk]),
        "is_held": person.legal_holds.living().exists(),
    }
    return render(request, "privacy/erase.html", context)


def _erase(person: User) -> Report:
    """Raises `LastAdministrator` or `UnderLegalHold`."""
    with transaction.atomic():
        audit.record("person.deleted", actor=person, about=person)
    [report] = erase([person], person)
    return report
