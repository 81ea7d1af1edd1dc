"""The page on which the owner of a prompt shares it."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from chatapp.db.primary_keys import parse_pk
from chatapp.library.forms import ShareForm
from chatapp.models import Installation, Refused, SavedPrompt, User


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
def sharing(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Add or change a grant, or remove the one that `remove` names."""
    assert isinstance(request.user, User)
    own: SavedPrompt = get_object_or_404(SavedPrompt.objects.owned_by(request.user), pk=pk)
    form = ShareForm(None, request.user)
    if request.method == "POST" and "remove" in request.POST:
        grant = own.grants.filter(pk=parse_pk(request.POST["remove"])).first()
        if grant:
            own.unshare(grant.group, request.user)
            messages.success(request, f"{grant.grantee}: no longer shared.")
        return redirect("prompt-sharing", pk)
    if request.method == "POST":
        form = ShareForm(request.POST, request.user)
        if form.is_valid() and _is_shared(request.user, own, form):
            messages.success(request, "Shared.")
            return redirect("prompt-sharing", pk)
    context = {
        "prompt": own,
        "form": form,
        "grants": own.grants.select_related("group").order_by("group__name", "pk"),
        "may_share": Installation.this().lets_share(request.user),
    }
    return render(request, "library/sharing.html", context)


def _is_shared(user: User, own: SavedPrompt, form: ShareForm) -> bool:
    try:
        own.share(*form.parsed, user)
    except Refused as error:
        form.add_error(None, str(error))
        return False
    return True
