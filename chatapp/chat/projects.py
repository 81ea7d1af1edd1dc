"""Views of projects: the page of each with a new chat in it, and create, change and delete."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from chatapp.chat.bulk_actions import error_response, text_response
from chatapp.chat.page_forms import ProjectForm
from chatapp.chat.views import chat_page
from chatapp.models import Project, Refused, User
from chatapp.models.conversations.chats.projects import MAX_PROJECTS
from chatapp.models.conversations.messages.storage import charge_quota
from chatapp.realtime.worker import worker


@require_GET
@never_cache
@login_required
def project(request: HttpRequest, pk: UUID) -> HttpResponse:
    """A new chat in the project, above the list of its chats. Members see it, too."""
    assert isinstance(request.user, User)
    open_project = get_object_or_404(Project.objects.open_to(request.user), pk=pk)
    return chat_page(request, project=open_project)


@require_POST
@login_required
def create(request: HttpRequest) -> HttpResponse:
    assert isinstance(request.user, User)
    if request.user.projects.count() >= MAX_PROJECTS:
        return text_response(
            f"You can have {MAX_PROJECTS} projects at most. Delete one first.", 422
        )
    return _save_project(request, Project(user=request.user))


@require_POST
@login_required
def change(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Change its name, instructions or model, which apply from the next turn on."""
    return _save_project(request, _get_own_project(request, pk))


@require_POST
@login_required
def delete(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Delete the project. Its conversations are kept, outside any project."""
    own = _get_own_project(request, pk)
    own.delete()
    worker().list_changed(own.user_id)
    return _go_to(request, reverse("chat"))


def _save_project(request: HttpRequest, project: Project) -> HttpResponse:
    form = ProjectForm(request.POST, project)
    if not form.is_valid():
        return error_response(form)
    before, hourly = project.stored_bytes, worker().stored_bytes[project.user_id]
    form.fill()
    try:
        charge_quota(project.user, project.stored_bytes, hourly, in_place_of=before)
    except Refused as error:
        return text_response(str(error), 422)
    project.save()
    worker().list_changed(project.user_id)
    return _go_to(request, reverse("project", args=[project.pk]))


def _go_to(request: HttpRequest, path: str) -> HttpResponse:
    """Redirect. htmx gets the path as text: the page's script goes there and keeps the socket."""
    return text_response(path) if "HX-Request" in request.headers else redirect(path)


def _get_own_project(request: HttpRequest, pk: UUID) -> Project:
    assert isinstance(request.user, User)
    own_project: Project = get_object_or_404(request.user.projects, pk=pk)
    return own_project
