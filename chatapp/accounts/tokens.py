"""The page of a person's API tokens: the list, a new token, and revoking one.

Creating a token asks to confirm one's identity, since it outlives the session. The audit log has
both.
"""

from datetime import timedelta
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from chatapp.accounts.confirmation import ask_to_confirm, is_confirmed
from chatapp.accounts.links import absolute
from chatapp.models import AccessToken, Installation, Refused, User, audit
from chatapp.models.accounts.access_tokens import MAX_NAME_LENGTH, Scope
from chatapp.text.visible import VisibleCharField

DAYS = {7: "After a week", 30: "After 30 days", 90: "After 90 days", 365: "After a year"}
NEVER = 0
PYTHON = """from openai import OpenAI

client = OpenAI(base_url="{}", api_key="…")
model = client.models.list().data[0].id
messages = [{{"role": "user", "content": "Hello"}}]
answer = client.chat.completions.create(model=model, messages=messages)
print(answer.choices[0].message.content)"""


class TokenForm(forms.Form):
    """A new token."""

    name = VisibleCharField(
        max_length=MAX_NAME_LENGTH,
        widget=forms.TextInput(attrs={"dir": "auto", "autocomplete": "off"}),
        help_text="For example the script or the computer that will use it.",
    )
    scopes = forms.MultipleChoiceField(
        label="It may",
        choices=Scope.choices,
        initial=Scope.values,
        widget=forms.CheckboxSelectMultiple,
    )
    days = forms.TypedChoiceField(
        label="Expires", coerce=int, choices=[*DAYS.items(), (NEVER, "Never")], initial=90
    )


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
def tokens(request: HttpRequest) -> HttpResponse:
    """List a person's tokens, and create one, which is shown once."""
    assert isinstance(request.user, User)
    person = request.user
    may_create = Installation.load().lets_use_api(person)
    if not may_create and not person.access_tokens.exists():
        raise Http404("The API is not switched on for you.")
    if request.method == "POST" and not is_confirmed(request):
        messages.info(request, "Nothing was created yet. Confirm it is you, then try again.")
        return ask_to_confirm(reverse("tokens"))
    form = TokenForm(request.POST if request.method == "POST" else None)
    secret = ""
    if may_create and form.is_valid():
        try:
            secret = _create_token(person, form)
        except Refused as refused:
            form.add_error(None, str(refused))
        else:
            form = TokenForm()
    context = {
        "tokens": person.access_tokens.all(),
        "form": form if may_create else None,
        "secret": secret,
        "base_url": (base_url := absolute(request, "/api/v1")),
        "curl": f'curl {base_url}/models -H "Authorization: Bearer $TOKEN"',
        "python": PYTHON.format(base_url),
    }
    return render(request, "account/tokens.html", context)


@transaction.atomic
def _create_token(person: User, form: TokenForm) -> str:
    fields = form.cleaned_data
    days = fields["days"]
    expires_at = timezone.now() + timedelta(days=days) if days else None
    token, secret = AccessToken.issue(person, fields["name"], fields["scopes"], expires_at)
    detail = {"scopes": token.scopes, "expires": expires_at.isoformat() if expires_at else "never"}
    audit.record("token.created", actor=person, about=person, detail=detail)
    return secret


@require_POST
@login_required
def revoke(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Revoke one of a person's tokens. Requests that use it stop."""
    assert isinstance(request.user, User)
    with transaction.atomic():
        token = get_object_or_404(request.user.access_tokens, pk=pk)
        token.delete()
        audit.record("token.revoked", actor=request.user, about=request.user)
    messages.success(request, f"Revoked {token.name}.")
    left = Installation.load().lets_use_api(request.user) or request.user.access_tokens.exists()
    return redirect("tokens" if left else "preferences")
