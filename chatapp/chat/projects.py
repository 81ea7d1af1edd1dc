"""Projects: a page of each, where a new chat begins in it, and what their owner does with them."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from chatapp.chat.keeping import refused, told
from chatapp.chat.page_forms import ProjectForm
from chatapp.chat.views import chat_page
from chatapp.models import Project, Refused, User
from chatapp.models.projects import MOST_PROJECTS
from chatapp.models.storage import take_room
from chatapp.worker import worker


@require_GET
@never_cache
@login_required
def project(request: HttpRequest, pk: UUID) -> HttpResponse:
    """A new chat in the project, above those that it has."""
    return chat_page(request, project=_own(request, pk))


@require_POST
@login_required
def create(request: HttpRequest) -> HttpResponse:
    assert isinstance(request.user, User)
    if request.user.projects.count() >= MOST_PROJECTS:
        return told(f"{MOST_PROJECTS} projects are the most that one has. Delete one first.", 422)
    return _saved(request, Project(user=request.user))


@require_POST
@login_required
def change(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Its name, its instructions and its model, of which the next turns know."""
    return _saved(request, _own(request, pk))


@require_POST
@login_required
def delete(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Its conversations stay, in no project."""
    own = _own(request, pk)
    own.delete()
    worker().list_changed(own.user_id)
    return _to(request, reverse("chat"))


def _saved(request: HttpRequest, project: Project) -> HttpResponse:
    form = ProjectForm(request.POST, project)
    if not form.is_valid():
        return refused(form)
    before, hourly = project.stored_bytes, worker().stored_bytes[project.user_id]
    form.fill()
    try:
        take_room(project.user, project.stored_bytes, hourly, in_place_of=before)
    except Refused as why:
        return told(str(why), 422)
    project.save()
    worker().list_changed(project.user_id)
    return _to(request, reverse("project", args=[project.pk]))


def _to(request: HttpRequest, address: str) -> HttpResponse:
    """The page's script is told where to go, since it keeps the socket on its way."""
    return told(address) if "HX-Request" in request.headers else redirect(address)


def _own(request: HttpRequest, pk: UUID) -> Project:
    assert isinstance(request.user, User)
    found: Project = get_object_or_404(request.user.projects, pk=pk)
    return found
