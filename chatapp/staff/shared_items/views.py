"""The list of what people share with others, for administrators, who can stop it."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from chatapp.accounts.staff import administrators_only
from chatapp.chat.project_members import remove
from chatapp.db.primary_keys import parse_pk
from chatapp.models import Project, ProjectMember, SharedChat, User
from chatapp.models.library.sharing import kinds
from chatapp.realtime.worker import worker

MAX_ITEMS = 500  # items of a kind
MAX_QUERY_LENGTH = 150


class FilterForm(forms.Form):
    q = forms.CharField(
        label="Name or owner", required=False, max_length=MAX_QUERY_LENGTH, empty_value=""
    )


class StopForm(forms.Form):
    """A grant, by its kind of item and the item's primary key."""

    kind = forms.ChoiceField()
    item = forms.UUIDField()
    grant = forms.IntegerField(min_value=1, max_value=2**63 - 1)

    def __init__(self, data: Any) -> None:
        super().__init__(data)
        self._kinds = {kind._meta.model_name or "": kind for kind in kinds()}
        field = self.fields["kind"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(name, name) for name in self._kinds]

    @property
    def item_and_grant(self) -> tuple[Any, Any]:
        """The item and its grant; None for each that does not exist."""
        clean = self.cleaned_data
        item = self._kinds[clean["kind"]].objects.filter(pk=clean["item"]).first()
        return item, item.grants.filter(pk=clean["grant"]).first() if item else None


@require_GET
@administrators_only
def shared_items(request: HttpRequest) -> HttpResponse:
    form = FilterForm(request.GET)
    query: str = form.cleaned_data["q"] if form.is_valid() else ""
    sections = [(kind._meta.verbose_name_plural, *_find_items(kind, query)) for kind in kinds()]
    links, count = _find_links(query)
    projects, project_count = _find_projects(query)
    context = {
        "form": form,
        "query": query,
        "sections": sections,
        "links": links,
        "link_count": count,
        "projects": projects,
        "project_count": project_count,
        "shown": MAX_ITEMS,
    }
    return render(request, "shared_items/shared.html", context)


def _find_items(kind: Any, query: str) -> tuple[list[Any], int]:
    """Return the first items whose name or owner has the words, and how many there are."""
    named = Q(owner__username__icontains=query) | Q(**{f"{kind.NAME}__icontains": query})
    items = kind.objects.shared().filter(named).select_related("owner")
    return list(items.prefetch_related("grants__group")[:MAX_ITEMS]), items.count()


def _find_links(query: str) -> tuple[list[SharedChat], int]:
    """Return the newest links to chats of these owners, and how many there are."""
    links = SharedChat.objects.filter(conversation__user__username__icontains=query)
    return list(links.with_names()[:MAX_ITEMS]), links.count()


def _find_projects(query: str) -> tuple[list[Project], int]:
    """Return the first shared projects with this name or owner, and how many there are."""
    named = Q(user__username__icontains=query) | Q(name__icontains=query)
    projects = Project.objects.shared().filter(named).select_related("user")
    members = projects.prefetch_related("members__person", "members__group")
    return list(members[:MAX_ITEMS]), projects.count()


@require_POST
@administrators_only
def revoke(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Revoke a link to a chat. It needs no password, since it only revokes."""
    assert isinstance(request.user, User)
    if link := SharedChat.objects.with_names().filter(pk=pk).first():
        link.revoke(request.user)
        worker().shares_changed(link.conversation_id)
        messages.success(request, "Revoked. The link no longer works.")
    else:
        messages.error(request, "This is not shared any more.")
    return redirect("shared-items")


@require_POST
@administrators_only
def stop_project(request: HttpRequest) -> HttpResponse:
    """Remove an entry of a project's members. It needs no password, since it only revokes."""
    assert isinstance(request.user, User)
    entries = ProjectMember.objects.select_related("target__user")
    entry = entries.filter(pk=parse_pk(request.POST.get("entry", ""))).first()
    if entry is None:
        messages.error(request, "This is not shared any more.")
    else:
        remove(entry.target, entry, request.user)
        messages.success(request, f"{entry.name}: “{entry.target}” is no longer shared.")
    return redirect("shared-items")


@require_POST
@administrators_only
def stop(request: HttpRequest) -> HttpResponse:
    """Remove a grant. It needs no password, since it only revokes."""
    assert isinstance(request.user, User)
    form = StopForm(request.POST)
    item, grant = form.item_and_grant if form.is_valid() else (None, None)
    if item is None or grant is None:
        messages.error(request, "This is not shared any more.")
    else:
        item.unshare(grant.group, request.user)
        messages.success(request, f"{grant.grantee}: “{item}” is no longer shared.")
    return redirect("shared-items")
