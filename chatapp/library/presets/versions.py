"""The versions of a preset: who saved each, when, and what it changed; and the way back."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from chatapp.library.presets import queries
from chatapp.library.presets.words import changes, in_words
from chatapp.models import Preset, Refused, User
from chatapp.models.library.sharing import Level
from chatapp.models.library.versions import ChangedMeanwhile

CHANGED = "Someone has saved version {} since you opened this page. Look at it, then restore again."
MAX_NUMBER = 2**31 - 1


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
def versions(request: HttpRequest, pk: UUID) -> HttpResponse:
    """List the versions, newest first, or make the content of one of them the newest."""
    assert isinstance(request.user, User)
    level = Level.EDIT if request.method == "POST" else Level.READ
    found = queries.found(request.user, pk, level)
    if request.method == "POST":
        _go_back(request, found, request.user)
        return redirect("preset-versions", pk)
    context = {
        "preset": found,
        "versions": found.versions.select_related("author").only(
            "number", "created_at", "author__username", "name", "target"
        ),
        "may_change": found.level_of(request.user) == Level.EDIT,
    }
    return render(request, "presets/versions.html", context)


@require_GET
@never_cache
@login_required
def version(request: HttpRequest, pk: UUID, number: int) -> HttpResponse:
    """Show a version, and what it changed."""
    assert isinstance(request.user, User)
    found = queries.found(request.user, pk, Level.READ)
    stored = found.versions.select_related("author", "upstream")
    shown = get_object_or_404(stored, number=min(number, MAX_NUMBER))
    before = stored.filter(number__lt=shown.number).first()
    tools = queries.tools_of(request.user)
    context = {
        "preset": found,
        "version": shown,
        "before": before,
        "changes": changes(before, shown, tools) if before else [],
        "parts": {name: text for name, text in in_words(shown, tools).items() if text},
        "may_change": found.level_of(request.user) == Level.EDIT,
    }
    return render(request, "presets/version.html", context)


def _go_back(request: HttpRequest, preset: Preset, user: User) -> None:
    number = _number(request, "number")
    try:
        preset.go_back(user, number, _number(request, "opened"))
    except ChangedMeanwhile as error:
        messages.error(request, CHANGED.format(error.newest))
    except Refused as error:
        messages.error(request, str(error))
    else:
        messages.success(request, f"Version {number} was restored as version {preset.version}.")


def _number(request: HttpRequest, name: str) -> int:
    """Return a posted number; 0, which no version has, if it is none."""
    value = request.POST.get(name, "")
    is_number = value.isascii() and value.isdigit() and len(value) < 11
    return min(int(value), MAX_NUMBER) if is_number else 0
