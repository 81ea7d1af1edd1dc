"""The page on which the owner of an item shares it."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import Group
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from chatapp.db.primary_keys import parse_pk
from chatapp.library.kinds import Kind
from chatapp.models import Installation, Refused, User
from chatapp.models.library.sharing import EVERYONE, Level, Shareable, groups_to_share_with

TO_EVERYONE = "everyone"


class ShareForm(forms.Form):
    """The form of the people to share with, and of what they may do."""

    to = forms.ChoiceField(
        label="Share with",
        error_messages={"invalid_choice": "Choose everyone, or a group that you belong to."},
    )
    level = forms.TypedChoiceField(label="They", choices=Level, coerce=int, initial=Level.USE)

    def __init__(self, data: Any, owner: User) -> None:
        super().__init__(data)
        self._groups = {str(group.pk): group for group in groups_to_share_with(owner)}
        names = [(key, group.name) for key, group in self._groups.items()]
        field = self.fields["to"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(TO_EVERYONE, f"{EVERYONE} who can sign in"), *names]

    @property
    def group_and_level(self) -> tuple[Group | None, Level]:
        return self._groups.get(self.cleaned_data["to"]), Level(self.cleaned_data["level"])


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
def sharing(request: HttpRequest, kind: Kind[Any], pk: UUID) -> HttpResponse:
    """Let the owner add or change a grant, or remove the one that `remove` names."""
    assert isinstance(request.user, User)
    owner = request.user
    item, form = kind.get_owned(owner, pk), ShareForm(None, owner)
    if request.method == "POST" and "remove" in request.POST:
        _unshare(request, item, owner)
        return redirect(request.path)
    if request.method == "POST":
        form = ShareForm(request.POST, owner)
        if form.is_valid() and _is_shared(item, owner, form):
            group, level = form.group_and_level
            messages.success(request, f"{group or EVERYONE}: {level.label.lower()}.")
            return redirect(request.path)
    context = {
        "item": item,
        "form": form,
        "grants": item.grants.select_related("group").order_by("group__name", "pk"),
        "may_share": Installation.load().lets_share(owner),
    }
    return kind.render(request, "sharing", context)


def _unshare(request: HttpRequest, item: Shareable, owner: User) -> None:
    if grant := item.grants.filter(pk=parse_pk(request.POST["remove"])).first():
        item.unshare(grant.group, owner)
        messages.success(request, f"{grant.grantee}: no longer shared.")


def _is_shared(item: Shareable, owner: User, form: ShareForm) -> bool:
    try:
        item.share(*form.group_and_level, owner)
    except Refused as error:
        form.add_error(None, str(error))
        return False
    return True
