"""Prompts for the message box: the list that a slash opens, and the text of a prompt.

The page gets the index of all prompts once and filters it by itself. A prompt's text is asked for
when the person chooses it, so that it is the present one, and only if it is still open to them.
"""

from collections.abc import Mapping
from datetime import datetime
from hashlib import blake2b
from typing import Any
from uuid import UUID

import msgspec
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models.functions import Substr
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from chatapp.library.prompts.automatic import CLIPBOARD, automatic_values
from chatapp.library.prompts.commands import COMMANDS
from chatapp.library.prompts.forms import FillForm
from chatapp.library.prompts.kind import PROMPTS
from chatapp.models import RememberedValues, SavedPrompt, User
from chatapp.sessions.time_zones import parse_time_zone
from chatapp.text.blanks import Blank, Kind, fill, find_blanks

PREVIEW = 200  # characters
MAX_LISTED = 10_000  # prompts


@require_GET
@login_required
def index(request: HttpRequest) -> HttpResponse:
    """Return all prompts that the person may use, their own first: `[id, title, command, owner,
    preview]`, with "" as the owner of their own."""
    assert isinstance(request.user, User)
    prompts = SavedPrompt.objects.annotate(preview=Substr("text", 1, PREVIEW))
    fields = "pk", "title", "command", "preview"
    own = prompts.owned_by(request.user).values_list(*fields)[:MAX_LISTED]
    shared = prompts.shared_with(request.user).values_list(*fields, "owner__username")
    rows = [
        *((*words, "", start) for *words, start in own),
        *((*words, owner, start) for *words, start, owner in shared[:MAX_LISTED]),
    ]
    body = msgspec.json.encode(rows)
    tag = f'"{blake2b(body, digest_size=16).hexdigest()}"'
    headers = {"ETag": tag}  # the page keeps it; the browser's cache must not, on a shared computer
    if request.headers.get("If-None-Match") == tag:
        return HttpResponse(status=304, headers=headers)
    return HttpResponse(body, content_type="application/json", headers=headers)


@require_GET
@login_required
def commands(request: HttpRequest) -> HttpResponse:
    """Return the empty list, with the app's own commands."""
    return render(request, "library/prompts/_list.html", {"commands": COMMANDS})


@require_GET
@login_required
def use(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Return a prompt's text as JSON, or the dialog that asks for its blanks."""
    assert isinstance(request.user, User)
    prompt = PROMPTS.find(request.user, pk)
    now = datetime.now(parse_time_zone(request.COOKIES.get("utc-offset", "")))
    automatic = automatic_values(request.user, now)
    if blanks := _find_open_blanks(prompt, automatic):
        remembered = RememberedValues.get_values(request.user, prompt)
        form = FillForm(None, blanks, remembered, f"{now:%Y-%m-%d}")
        context = {"prompt": prompt, "form": form, "clipboard": _clipboard(blanks)}
        return render(request, "library/prompts/_fill.html", context)
    return JsonResponse({"text": fill(prompt.text, automatic)})


@require_POST
@login_required
def fill_in(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Return the text with the posted values, and remember these for the next time."""
    assert isinstance(request.user, User)
    prompt = PROMPTS.find(request.user, pk)
    now = datetime.now(parse_time_zone(request.COOKIES.get("utc-offset", "")))
    automatic = automatic_values(request.user, now)
    form = FillForm(request.POST, _find_open_blanks(prompt, automatic), {}, "")
    if not form.is_valid():
        problems: list[Any] = [error for errors in form.errors.values() for error in errors]
        return HttpResponse(str(problems[0]), status=422, content_type="text/plain")
    values = form.values
    remembered = {name: value for name, value in values.items() if name != CLIPBOARD}
    if remembered and "temporary" not in request.POST:
        RememberedValues.remember(request.user, prompt, remembered)
    return JsonResponse({"text": fill(prompt.text, {**values, **automatic})})


@require_POST
@login_required
def forget(request: HttpRequest) -> HttpResponse:
    """Delete what the person filled into blanks."""
    RememberedValues.objects.filter(user=request.user).delete()
    messages.success(request, "Deleted what was remembered for blanks.")
    return redirect("prompts")


def _find_open_blanks(prompt: SavedPrompt, automatic: Mapping[str, str]) -> list[Blank]:
    """Return the blanks that are not filled in by themselves."""
    open_blanks = [blank for blank in find_blanks(prompt.text) if blank.name not in automatic]
    return [
        Blank(CLIPBOARD, Kind.LINES) if open_blank.name == CLIPBOARD else open_blank
        for open_blank in open_blanks
    ]


def _clipboard(blanks: list[Blank]) -> str:
    """Return the name of the clipboard's field, "" if there is none."""
    names = [blank.name for blank in blanks]
    return f"blank-{names.index(CLIPBOARD)}" if CLIPBOARD in names else ""
