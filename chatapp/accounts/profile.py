"""The page on which people change their own name and email address."""

from typing import Any

from allauth.core import ratelimit
from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from chatapp.accounts import links
from chatapp.accounts.confirmation import ask_to_confirm, is_confirmed
from chatapp.models import User, audit

NAMES = ("first_name", "last_name")


class ProfileForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = User
        fields = [*NAMES, "email"]
        labels = {"email": "Email address"}
        widgets = {
            "first_name": forms.TextInput(attrs={"autocomplete": "given-name"}),
            "last_name": forms.TextInput(attrs={"autocomplete": "family-name"}),
            "email": forms.EmailInput(attrs={"autocomplete": "email"}),
        }

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        email = self.fields["email"]
        email.required = bool(self.instance.email)
        if links.sends_mail():
            email.help_text = "A new address is yours once you open the link that is sent to it."
        else:
            email.disabled = True
            email.help_text = "This server sends no email. An administrator can change the address."


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
def profile(request: HttpRequest) -> HttpResponse:
    """Store a person's name, and send a link to a new address, which confirms it."""
    assert isinstance(request.user, User)
    person = request.user
    before = {name: getattr(person, name) for name in NAMES}
    form = ProfileForm(
        request.POST if request.method == "POST" else None, instance=User.objects.get(pk=person.pk)
    )
    if form.is_valid():
        address = form.cleaned_data["email"] if "email" in form.changed_data else ""
        if address and not is_confirmed(request):
            return ask_to_confirm(request.path)
        if address and not ratelimit.consume(
            request, action="reset_password", key=address.casefold()
        ):
            return render(request, "429.html", {"retry_after": 3600}, status=429)
        changed = [name for name in NAMES if name in form.changed_data]
        if changed:
            after = {name: form.cleaned_data[name] for name in changed}
            detail = {"before": {name: before[name] for name in changed}, "after": after}
            with transaction.atomic():
                form.instance.save(update_fields=changed)
                audit.record("person.changed", actor=person, about=person, detail=detail)
        return _report_outcome(request, address)
    return render(request, "account/profile.html", {"form": form})


def _report_outcome(request: HttpRequest, address: str) -> HttpResponse:
    assert isinstance(request.user, User)
    if not address:
        messages.success(request, "Saved.")
    elif links.send_confirmation(request, request.user, address):
        messages.success(
            request, f"Open the link that was sent to {address}. Until then, your address stays."
        )
    else:
        messages.error(request, f"No email could be sent to {address}. Your address stays.")
    return redirect("profile")
