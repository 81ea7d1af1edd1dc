"""The list of presets, and the page of each."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from chatapp.library.presets import queries, saving
from chatapp.library.presets.forms import PresetForm, SearchForm
from chatapp.library.presets.words import in_words
from chatapp.library.sharing_form import sharing_page
from chatapp.models import Preset, Refused, User
from chatapp.models.library.sharing import DELETED_DAYS, Level
from chatapp.models.library.versions import ChangedMeanwhile

SHOWN = 100  # presets in a section of the list
MANY = 12  # presets from which on the list can be searched


@require_GET
@never_cache
@login_required
def presets(request: HttpRequest) -> HttpResponse:
    """List a person's own presets, those shared with them, and what they deleted lately."""
    assert isinstance(request.user, User)
    form = SearchForm(request.GET)
    is_valid = form.is_valid()
    query: str = form.cleaned_data.get("q", "")
    named = queries.named(query)
    own = named.owned_by(request.user).prefetch_related("grants__group")
    shared = named.shared_with(request.user)
    deleted = Preset.objects.deleted_by(request.user).order_by("-deleted_at").only("name", "icon")
    counts = own.count(), shared.count()
    context: dict[str, Any] = {
        "query": query,
        "problem": "" if is_valid else f"{form.errors['q'][0]}",
        "searchable": bool(query or not is_valid or sum(counts) > MANY),
        "sections": [
            ("Yours", own[:SHOWN], counts[0]),
            ("Shared with you", shared[:SHOWN], counts[1]),
        ],
        "shown": SHOWN,
        "deleted": deleted[:SHOWN],
        "deleted_days": DELETED_DAYS,
    }
    return render(request, "presets/presets.html", context)


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
def create(request: HttpRequest) -> HttpResponse:
    assert isinstance(request.user, User)
    form = _form(request, None)
    if form.is_valid():
        try:
            [made] = saving.add(request.user, [form.content])
        except Refused as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, "Saved.")
            return redirect("preset", made.pk)
    return render(request, "presets/form.html", {"form": form, "preset": None})


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
def preset(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show a preset, as a form to those who may change it."""
    assert isinstance(request.user, User)
    found = queries.found(request.user, pk, Level.EDIT if request.method == "POST" else Level.USE)
    level = found.level_of(request.user)
    if level != Level.EDIT:
        return _read(request, found, level == Level.READ)
    form = _form(request, found)
    if form.is_valid() and _is_changed(request, found, form):
        messages.success(request, "Saved. Chats that have an earlier version keep it.")
        return redirect("preset", pk)
    return render(request, "presets/form.html", {"form": form, "preset": found})


def _read(request: HttpRequest, found: Preset, may_read: bool) -> HttpResponse:
    """Show what the person may see of a preset that they can't change."""
    assert isinstance(request.user, User)
    parts = in_words(found, queries.tools_of(request.user))
    shown = parts if may_read else {name: parts[name] for name in ("Model", "Suggestions")}
    context = {
        "preset": found,
        "may_read": may_read,
        "parts": {
            name: text
            for name, text in shown.items()
            if text and name not in ("Name", "Icon", "Description")
        },
    }
    return render(request, "presets/preset.html", context)


def _form(request: HttpRequest, preset: Preset | None) -> PresetForm:
    assert isinstance(request.user, User)
    offers, tools = queries.offers_to(request.user), queries.tools_of(request.user)
    posted = request.POST if request.method == "POST" else None
    return PresetForm(posted, request.user, offers, tools, preset)


def _is_changed(request: HttpRequest, found: Preset, form: PresetForm) -> bool:
    """Save the form; add an error and return False if that is refused."""
    assert isinstance(request.user, User)
    try:
        saving.change(found, request.user, form.cleaned_data["opened"] or 1, form.content)
    except ChangedMeanwhile as error:
        form.add_error(None, str(error))
        posted = request.POST.copy()
        posted["opened"] = str(error.newest)
        form.data = posted
        return False
    except Refused as error:
        form.add_error(None, str(error))
        return False
    return True


@require_POST
@login_required
def copy(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Save a copy of a preset that the person may read as one of their own."""
    assert isinstance(request.user, User)
    found = queries.found(request.user, pk, Level.READ)
    try:
        [made] = saving.copy(found, request.user)
    except Refused as error:
        messages.error(request, str(error))
        return redirect("preset", pk)
    messages.success(request, "Saved as a preset of your own.")
    return redirect("preset", made.pk)


@require_POST
@login_required
def delete(request: HttpRequest, pk: UUID) -> HttpResponse:
    assert isinstance(request.user, User)
    get_object_or_404(Preset.objects.owned_by(request.user), pk=pk).discard()
    messages.success(
        request,
        f"Deleted. For {DELETED_DAYS} days it can be restored at the end of this page. Chats that "
        "were started from it keep it.",
    )
    return redirect("presets")


@require_POST
@login_required
def restore(request: HttpRequest, pk: UUID) -> HttpResponse:
    assert isinstance(request.user, User)
    deleted = get_object_or_404(Preset.objects.deleted_by(request.user), pk=pk)
    try:
        saving.restore(deleted)
    except Refused as error:
        messages.error(request, str(error))
        return redirect("presets")
    messages.success(request, "Restored.")
    return redirect("preset", pk)


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
def sharing(request: HttpRequest, pk: UUID) -> HttpResponse:
    assert isinstance(request.user, User)
    own = get_object_or_404(Preset.objects.owned_by(request.user), pk=pk)
    return sharing_page(request, own, "presets/sharing.html")
