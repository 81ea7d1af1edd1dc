"""The list of a kind of items, and the page of each."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from chatapp.library import saving
from chatapp.library.forms import ItemForm, SearchForm
from chatapp.library.kinds import Kind
from chatapp.models import Refused, User
from chatapp.models.library.sharing import DELETED_DAYS, Level
from chatapp.models.library.versions import ChangedMeanwhile, Versioned


@require_GET
@never_cache
@login_required
def items(request: HttpRequest, kind: Kind[Any]) -> HttpResponse:
    """List a person's own items, those shared with them, and what they deleted lately."""
    assert isinstance(request.user, User)
    form = SearchForm(request.GET)
    is_valid = form.is_valid()
    query: str = form.cleaned_data.get("q", "")
    matches = kind.search(query)
    own = matches.owned_by(request.user).prefetch_related("grants__group")
    shared = matches.shared_with(request.user)
    deleted = kind.search("").deleted_by(request.user).order_by("-deleted_at")
    counts = own.count(), shared.count()
    context = {
        "query": query,
        "problem": "" if is_valid else f"{form.errors['q'][0]}",
        "searchable": bool(query or not is_valid or sum(counts) > kind.max_unsearched),
        "sections": [
            ("Yours", own[: kind.max_listed], counts[0]),
            ("Shared with you", shared[: kind.max_listed], counts[1]),
        ],
        "deleted": deleted[: kind.max_listed],
        "deleted_days": DELETED_DAYS,
        **kind.list_context(request.user),
    }
    return kind.render(request, "list", context)


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
def create(request: HttpRequest, kind: Kind[Any]) -> HttpResponse:
    assert isinstance(request.user, User)
    form = kind.form(request.user, request.POST if request.method == "POST" else None)
    form.initial.update(kind.initial(request.user, request.GET))
    if form.is_valid():
        try:
            with transaction.atomic():
                [new_item] = saving.add(kind, request.user, [form.store()])
        except Refused as error:
            form.add_error(None, str(error))
        else:
            _tell(request, kind.created, form)
            return redirect(kind.name, new_item.pk)
    return kind.render(request, "form", {"form": form, "item": None})


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
def item(request: HttpRequest, kind: Kind[Any], pk: UUID) -> HttpResponse:
    """Show an item, as a form to those who may change it."""
    assert isinstance(request.user, User)
    is_posted = request.method == "POST"
    open_item = kind.find(request.user, pk, Level.EDIT if is_posted else Level.USE)
    level = open_item.find_level(request.user) or Level.USE
    context = {
        "item": open_item,
        "is_owner": open_item.owner_id == request.user.pk,
        "may_read": level >= Level.READ,
        "may_copy": level >= kind.copied_at,
    }
    if level != Level.EDIT:
        read_only_context = kind.read_context(request.user, open_item, level >= Level.READ)
        return kind.render(request, "read", context | {**read_only_context})
    form = kind.form(request.user, request.POST if is_posted else None, open_item)
    if form.is_valid() and _is_changed(request, open_item, form):
        _tell(request, kind.changed, form)
        return redirect(kind.name, pk)
    return kind.render(request, "form", context | {"form": form})


def _tell(request: HttpRequest, done: str, form: ItemForm) -> None:
    messages.success(request, done)
    for remark in form.remarks:
        messages.warning(request, remark)


def _is_changed(request: HttpRequest, item: Versioned, form: ItemForm) -> bool:
    """Save the form; add an error and return False if that is refused."""
    assert isinstance(request.user, User)
    try:
        with transaction.atomic():
            opened = form.cleaned_data["opened"] or 1
            saving.change(item, request.user, opened, form.store())
    except Refused as error:
        form.add_error(None, str(error))
        if isinstance(error, ChangedMeanwhile):
            posted = request.POST.copy()
            posted["opened"] = str(error.newest)
            form.data = posted
        return False
    return True


@require_POST
@login_required
def copy(request: HttpRequest, kind: Kind[Any], pk: UUID) -> HttpResponse:
    """Save a copy as an item of the person's own."""
    assert isinstance(request.user, User)
    original = kind.find(request.user, pk, kind.copied_at)
    try:
        new_item = saving.copy(kind, original, request.user)
    except Refused as error:
        messages.error(request, str(error))
        return redirect(kind.name, pk)
    messages.success(request, f"Saved as a {kind.name} of your own.")
    return redirect(kind.name, new_item.pk)


@require_POST
@login_required
def delete(request: HttpRequest, kind: Kind[Any], pk: UUID) -> HttpResponse:
    assert isinstance(request.user, User)
    kind.get_owned(request.user, pk).discard()
    messages.success(request, kind.deleted)
    return redirect(kind.plural)


@require_POST
@login_required
def restore(request: HttpRequest, kind: Kind[Any], pk: UUID) -> HttpResponse:
    assert isinstance(request.user, User)
    deleted = get_object_or_404(kind.model.objects.deleted_by(request.user), pk=pk)
    try:
        saving.restore(kind, deleted)
    except Refused as error:
        messages.error(request, str(error))
        return redirect(kind.plural)
    messages.success(request, "Restored.")
    return redirect(kind.name, pk)
