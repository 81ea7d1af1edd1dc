"""The versions of a prompt: who saved each, when, with what content; and the way back."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from chatapp.library.views import open_to
from chatapp.models import Refused, User
from chatapp.models.library.sharing import Level
from chatapp.models.library.versions import ChangedMeanwhile

MAX_NUMBER = 2**31 - 1


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
def versions(request: HttpRequest, pk: UUID) -> HttpResponse:
    """List the versions, newest first, or make the content of one of them the newest."""
    assert isinstance(request.user, User)
    level = Level.EDIT if request.method == "POST" else Level.READ
    found = open_to(request.user, pk, level)
    if request.method == "POST":
        try:
            number, opened = _number(request, "number"), _number(request, "opened")
            found.go_back(request.user, number, opened)
        except ChangedMeanwhile as error:
            messages.error(
                request, f"{error.what} Nothing was restored. Look at it, and try again."
            )
        except Refused as error:
            messages.error(request, str(error))
        else:
            messages.success(request, f"Version {number} was restored as version {found.version}.")
        return redirect("prompt-versions", pk)
    context = {
        "prompt": found,
        "versions": found.versions.select_related("author"),
        "may_change": found.level_of(request.user) == Level.EDIT,
    }
    return render(request, "library/versions.html", context)


def _number(request: HttpRequest, name: str) -> int:
    """Return a posted number; 0, which no version has, if it is none."""
    value = request.POST.get(name, "")
    is_number = value.isascii() and value.isdigit() and len(value) < 11
    return min(int(value), MAX_NUMBER) if is_number else 0
