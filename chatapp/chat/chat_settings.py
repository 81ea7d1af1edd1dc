"""Views of a chat's settings: the panel beside the thread."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from chatapp.chat import thread_views
from chatapp.chat.form_fields import ModelField
from chatapp.chat.queries import number_of, uuid_of
from chatapp.chat.views import meter_figures
from chatapp.library.presets.parameter_form import ParameterForm
from chatapp.models import (
    ChatSettings,
    Conversation,
    Memory,
    Preset,
    PresetVersion,
    Refused,
    Upstream,
    User,
)
from chatapp.realtime.worker import worker


@require_GET
@never_cache
@login_required
def of_new_chat(request: HttpRequest) -> HttpResponse:
    """The panel of a chat that is not stored yet: its fields are sent with the first prompt."""
    return _panel(request, None, _with_preset(request, ChatSettings()))


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
def of_chat(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The panel of a stored chat. What it saves applies from the next prompt on.

    With `preset` in the query, it shows the content of that preset, not saved yet.
    """
    assert isinstance(request.user, User)
    conversation = thread_views.own(request, pk)
    if request.method == "GET":
        return _panel(request, conversation, _with_preset(request, ChatSettings.of(conversation)))
    form = ParameterForm(request.POST)
    with transaction.atomic():
        settings = ChatSettings.of(Conversation.held(request.user, pk))
        chosen = _chosen_preset(request.user, request.POST.get("preset", ""))
        number = number_of(request.POST.get("version", ""))
        settings.preset_version = _version(chosen, number) if chosen else None
        if settings.is_readable(request.user):
            if not form.is_valid():
                return _panel(request, conversation, settings, form)
            settings.set_own(form.cleaned_data["system_prompt"], form.parameters)
        else:
            settings.system_prompt = settings.parameters = None
        settings.store()
    worker().conversation_changed(request.user.pk, pk)
    return _panel(request, conversation, settings, is_saved=True)


def _with_preset(request: HttpRequest, settings: ChatSettings) -> ChatSettings:
    """Return the settings with the newest version of the preset in the query, if it names one."""
    assert isinstance(request.user, User)
    if (named := request.GET.get("preset")) is not None:
        preset = _chosen_preset(request.user, named)
        settings.preset_version = preset.newest if preset else None
        settings.system_prompt = settings.parameters = None
    return settings


def _chosen_preset(user: User, named: str) -> Preset | None:
    pk = uuid_of(named)
    found: Preset | None = Preset.objects.open_to(user).filter(pk=pk).first() if pk else None
    return found


def _version(preset: Preset, number: int) -> PresetVersion:
    """Return the version that the panel showed, or the newest."""
    shown: PresetVersion | None = preset.versions.filter(number=number).first()
    return shown or preset.newest


def _changes(request: HttpRequest, settings: ChatSettings) -> list[str]:
    """Return what the model in the query gets differently from what is set, and why."""
    assert isinstance(request.user, User)
    model = ModelField(required=False).to_python((request.POST or request.GET).get("model"))
    if model is None:
        return []
    try:
        upstream = Upstream.offering(model, request.user.pk)
    except Refused:
        return []
    changes = upstream.bounded_for(model.name, settings.sent_parameters).changes
    return [change.reason for change in changes]


def _panel(
    request: HttpRequest,
    conversation: Conversation | None,
    settings: ChatSettings,
    form: ParameterForm | None = None,
    *,
    is_saved: bool = False,
) -> HttpResponse:
    assert isinstance(request.user, User)
    presets = Preset.objects.to_choose(request.user)
    if settings.preset and settings.preset not in presets:
        presets.append(settings.preset)
    context: dict[str, object] = {
        "conversation": conversation,
        "settings": settings,
        "presets": presets,
        "may_change": settings.is_readable(request.user),
        "files": settings.preset_version.files if settings.preset_version else [],
        "changes": _changes(request, settings),
        "form": form or ParameterForm.of(settings.instructions, settings.sent_parameters),
        "composer": conversation is None,
        "is_saved": is_saved,
        "is_unsaved": "preset" in request.GET,
        "has_memory": bool(Memory.instructions_of(request.user.pk)),
    }
    if conversation and is_saved:
        takes_memory, project = not conversation.is_temporary, conversation.project
        context |= meter_figures(settings, request.user, project, takes_memory=takes_memory)
    return render(request, "chat/_settings.html", context)
