"""The page of a version of a preset, and what it changed."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from chatapp.library.presets.kind import PRESETS, tools_of
from chatapp.library.presets.words import changes, in_words
from chatapp.library.versions import MAX_NUMBER
from chatapp.models import User
from chatapp.models.library.sharing import Level


@require_GET
@never_cache
@login_required
def version(request: HttpRequest, pk: UUID, number: int) -> HttpResponse:
    """Show a version, and what it changed."""
    assert isinstance(request.user, User)
    found = PRESETS.find(request.user, pk, Level.READ)
    stored = found.versions.select_related("author", "upstream")
    shown = get_object_or_404(stored, number=min(number, MAX_NUMBER))
    before = stored.filter(number__lt=shown.number).first()
    tools = tools_of(request.user)
    context = {
        "item": found,
        "version": shown,
        "before": before,
        "files": shown.files,
        "changes": changes(before, shown, tools) if before else [],
        "parts": {name: text for name, text in in_words(shown, tools).items() if text},
        "may_change": found.level_of(request.user) == Level.EDIT,
    }
    return PRESETS.render(request, "version", context)
