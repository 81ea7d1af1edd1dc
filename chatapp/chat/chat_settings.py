"""Views of a chat's settings: the panel beside the thread."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from chatapp.chat import thread_views
from chatapp.library.parameter_form import ParameterForm
from chatapp.models import ChatSettings, Conversation, Memory, User


@require_GET
@never_cache
@login_required
def of_new_chat(request: HttpRequest) -> HttpResponse:
    """The panel of a chat that is not stored yet: its fields are sent with the first prompt."""
    return _panel(request, None, ParameterForm.of("", {}))


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
def of_chat(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The panel of a stored chat. What it saves applies from the next prompt on."""
    conversation = thread_views.own(request, pk)
    if request.method == "GET":
        settings = ChatSettings.of(conversation)
        form = ParameterForm.of(settings.system_prompt, settings.parameters)
        return _panel(request, conversation, form)
    form = ParameterForm(request.POST)
    if not form.is_valid():
        return _panel(request, conversation, form)
    with transaction.atomic():
        assert isinstance(request.user, User)
        settings = ChatSettings.of(Conversation.held(request.user, pk))
        settings.system_prompt = form.cleaned_data["system_prompt"]
        settings.parameters = form.parameters
        settings.store()
    return _panel(request, conversation, form, is_saved=True)


def _panel(
    request: HttpRequest,
    conversation: Conversation | None,
    form: ParameterForm,
    *,
    is_saved: bool = False,
) -> HttpResponse:
    assert isinstance(request.user, User)
    context = {
        "conversation": conversation,
        "form": form,
        "composer": conversation is None,
        "is_saved": is_saved,
        "has_memory": bool(Memory.instructions_of(request.user.pk)),
    }
    return render(request, "chat/_settings.html", context)
