"""The page of a version of a preset, and what it changed."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from chatapp.library.presets.kind import PRESETS, get_tool_names
from chatapp.library.presets.words import changes, describe_in_words
from chatapp.library.versions import MAX_NUMBER
from chatapp.models import User
from chatapp.models.library.sharing import Level


@require_GET
@never_cache
@login_required
def version(request: HttpRequest, pk: UUID, number: int) -> HttpResponse:
    """Show a version, and what it changed."""
    assert isinstance(request.user, User)
    preset = PRESETS.find(request.user, pk, Level.READ)
    versions = preset.versions.select_related("author", "upstream")
    preset_version = get_object_or_404(versions, number=min(number, MAX_NUMBER))
    before = versions.filter(number__lt=preset_version.number).first()
    tools = get_tool_names(request.user)
    context = {
        "item": preset,
        "version": preset_version,
        "before": before,
        "files": preset_version.files,
        "changes": changes(before, preset_version, tools) if before else [],
        "parts": {
            name: text for name, text in describe_in_words(preset_version, tools).items() if text
        },
        "may_change": preset.find_level(request.user) == Level.EDIT,
    }
    return PRESETS.render(request, "version", context)
