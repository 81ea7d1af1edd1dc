"""The list of prompts, and the page of each."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from chatapp.library.forms import PromptForm, SearchForm
from chatapp.library.saving import add
from chatapp.models import Refused, RememberedValues, SavedPrompt, User
from chatapp.models.conversations.storage import take_room
from chatapp.models.library.sharing import DELETED_DAYS, Level
from chatapp.models.library.versions import ChangedMeanwhile
from chatapp.realtime.worker import worker

SHOWN = 200  # prompts in a section of the list


@require_GET
@never_cache
@login_required
def prompts(request: HttpRequest) -> HttpResponse:
    """List a person's own prompts, those shared with them, and what they deleted lately."""
    assert isinstance(request.user, User)
    form = SearchForm(request.GET)
    is_valid = form.is_valid()
    query: str = form.cleaned_data.get("q", "")
    named = Q(title__icontains=query) | Q(command__icontains=query.removeprefix("/"))
    found = SavedPrompt.objects.select_related("owner").defer("text").filter(named)
    own = found.owned_by(request.user).prefetch_related("grants__group")
    others = found.shared_with(request.user)
    deleted = SavedPrompt.objects.deleted_by(request.user).order_by("-deleted_at")
    context: dict[str, Any] = {
        "query": query,
        "problem": "" if is_valid else f"{form.errors['q'][0]}",
        "own": own[:SHOWN],
        "shared": others[:SHOWN],
        "counts": (own.count(), others.count()),
        "shown": SHOWN,
        "deleted": deleted[:SHOWN],
        "deleted_days": DELETED_DAYS,
        "has_values": RememberedValues.objects.filter(user=request.user).exists(),
    }
    return render(request, "library/prompts.html", context)


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
def create(request: HttpRequest) -> HttpResponse:
    assert isinstance(request.user, User)
    form = PromptForm(request.POST if request.method == "POST" else None, request.user)
    if form.is_valid():
        try:
            [made] = add(request.user, [form.content])
        except Refused as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, "Saved. Type a slash in the message box to use it.")
            return redirect("prompt", made.pk)
    return render(request, "library/form.html", {"form": form, "prompt": None})


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
def prompt(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show a prompt, as a form to those who may change it."""
    assert isinstance(request.user, User)
    found = open_to(request.user, pk)
    level = found.level_of(request.user)
    context: dict[str, Any] = {"prompt": found, "level": level, "Level": Level}
    if level != Level.EDIT:
        if request.method == "POST":
            get_object_or_404(SavedPrompt.objects.open_to(request.user, Level.EDIT), pk=pk)
        return render(request, "library/prompt.html", context)
    form = PromptForm(request.POST if request.method == "POST" else None, request.user, found)
    if form.is_valid() and _is_changed(request.user, found, form):
        messages.success(request, "Saved.")
        return redirect("prompt", pk)
    return render(request, "library/form.html", context | {"form": form})


def _is_changed(user: User, found: SavedPrompt, form: PromptForm) -> bool:
    """Save the form; add an error and return False if that is refused."""
    size = sum(len(value.encode()) for value in form.content.values())
    try:
        take_room(user, size, worker().stored_bytes[user.pk])
        found.change(user, form.cleaned_data["opened"] or 1, **form.content)
    except ChangedMeanwhile as error:
        form.add_error(None, str(error))
        form.data = {**dict(form.data.items()), "opened": str(error.newest)}
        return False
    except Refused as error:
        form.add_error(None, str(error))
        return False
    return True


@require_POST
@login_required
def copy(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Save somebody else's prompt as one's own."""
    assert isinstance(request.user, User)
    found = open_to(request.user, pk)
    try:
        [made] = add(request.user, [found.content])
    except Refused as error:
        messages.error(request, str(error))
        return redirect("prompt", pk)
    messages.success(request, "Saved as a prompt of your own.")
    return redirect("prompt", made.pk)


@require_POST
@login_required
def delete(request: HttpRequest, pk: UUID) -> HttpResponse:
    assert isinstance(request.user, User)
    own = get_object_or_404(SavedPrompt.objects.owned_by(request.user), pk=pk)
    own.discard()
    messages.success(
        request, f"Deleted. It is at the end of this page for {DELETED_DAYS} days, to be restored."
    )
    return redirect("prompts")


@require_POST
@login_required
def restore(request: HttpRequest, pk: UUID) -> HttpResponse:
    assert isinstance(request.user, User)
    get_object_or_404(SavedPrompt.objects.deleted_by(request.user), pk=pk).restore()
    messages.success(request, "Restored.")
    return redirect("prompt", pk)


@require_POST
@login_required
def forget(request: HttpRequest) -> HttpResponse:
    """Delete what the person filled into blanks."""
    RememberedValues.objects.filter(user=request.user).delete()
    messages.success(request, "Deleted what was remembered for blanks.")
    return redirect("prompts")


def open_to(user: User, pk: UUID, level: Level = Level.USE) -> SavedPrompt:
    """Return a prompt that the person owns or has this level on; else the page is missing."""
    prompts = SavedPrompt.objects.open_to(user, level).select_related("owner")
    found: SavedPrompt = get_object_or_404(prompts, pk=pk)
    return found
