"""Views of a chat's settings: the panel beside the thread."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from chatapp.chat import thread_views
from chatapp.chat.form_fields import ModelField, models_in
from chatapp.chat.queries import parse_number, parse_uuid
from chatapp.chat.settings_forms import DraftField, SettingsForm
from chatapp.chat.views import meter_figures
from chatapp.models import (
    ChatSettings,
    Conversation,
    Memory,
    ModelChoice,
    Preset,
    PresetVersion,
    Refused,
    ToolServer,
    Upstream,
    User,
)
from chatapp.realtime.worker import worker
from chatapp.rendering.fragments.tool_names import ReadableName, readable_name
from chatapp.tools import shared_registry


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
def show_new_chat_settings(request: HttpRequest) -> HttpResponse:
    """Show the panel of a chat that is not stored yet: the first prompt sends its fields.

    A POST has these fields, and is answered with those of another model.
    """
    assert isinstance(request.user, User)
    settings = _with_preset(request, ChatSettings())
    form = SettingsForm(request.POST)
    is_wrong = request.method == "POST" and not _apply(form, settings, request.user)
    return _panel(request, None, settings, form if is_wrong else None)


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
def show_chat_settings(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show the panel of a stored chat. What it saves applies from the next prompt on.

    With `take` in the query, what the chosen preset has replaces what is set. With `show`, the
    panel has the fields of another model, and nothing is saved. `ask_before` names a tool that is
    no longer allowed always.
    """
    assert isinstance(request.user, User)
    conversation = thread_views.get_own_conversation(request, pk)
    if request.method == "GET":
        return _panel(request, conversation, ChatSettings.for_conversation(conversation))
    form = SettingsForm(request.POST)
    with transaction.atomic():
        locked_chat = Conversation.get_for_update(request.user, pk)
        if tool := request.GET.get("ask_before"):
            ChatSettings.for_conversation(locked_chat).ask_before(tool)
        settings = ChatSettings.for_conversation(locked_chat)
        before = settings.digest
        if "take" in request.GET:
            settings = _with_preset(request, settings)
            is_valid = True
        else:
            chosen = _find_preset(request.user, request.POST.get("preset", ""))
            number = parse_number(request.POST.get("version", ""))
            settings.preset_version = _find_version(chosen, number) if chosen else None
            is_valid = _apply(form, settings, request.user)
        is_saved = is_valid and "show" not in request.GET
        if is_saved:
            settings.store()
    if is_saved:
        worker().conversation_changed(request.user.pk, pk)
        return _panel(request, conversation, settings, is_saved=True)
    is_unsaved = not is_valid or settings.digest != before
    return _panel(
        request, conversation, settings, None if is_valid else form, is_unsaved=is_unsaved
    )


@require_GET
@never_cache
@login_required
def tool_switches(request: HttpRequest) -> HttpResponse:
    """The tool servers whose tools models may call in a chat, or in a new one."""
    assert isinstance(request.user, User)
    if pk := parse_uuid(request.GET.get("conversation", "")):
        settings = ChatSettings.for_conversation(thread_views.get_own_conversation(request, pk))
    else:
        settings = _with_preset(request, ChatSettings())
    version = settings.preset_version
    servers = [
        server
        for server in ToolServer.all_enabled(request.user.pk)
        if server.is_open and (version is None or version.offers(server.pk))
    ]
    return render(request, "chat/_tool_switches.html", {"servers": servers})


def _apply(form: SettingsForm, settings: ChatSettings, user: User) -> bool:
    """Set what the form has; return whether it is valid."""
    if not settings.is_readable(user):
        settings.own = {}
        return True
    is_valid = form.is_valid()
    if draft := form.cleaned_data.get("draft"):
        settings.own = draft
    if not is_valid:
        return False
    clean = form.cleaned_data
    try:
        settings.set_own(clean["system_prompt"], form.parameters, clean["settings_of"])
    except Refused as refused:
        form.add_error(None, str(refused))
    return not form.errors


def _with_preset(request: HttpRequest, settings: ChatSettings) -> ChatSettings:
    """Return the settings with the newest version of the preset in the query, if it names one.

    Then its models have nothing of their own.
    """
    assert isinstance(request.user, User)
    if (preset_id := (request.POST or request.GET).get("preset")) is not None:
        preset = _find_preset(request.user, preset_id)
        settings.preset_version = preset.newest if preset else None
        settings.own = {}
    return settings


def _find_preset(user: User, preset_id: str) -> Preset | None:
    pk = parse_uuid(preset_id)
    preset: Preset | None = Preset.objects.open_to(user).filter(pk=pk).first() if pk else None
    return preset


def _list_presets(settings: ChatSettings, user: User) -> list[Preset]:
    """Return the presets to choose from, with the one that is set, even if it is not open."""
    presets = Preset.objects.list_choices(user)
    if settings.preset and settings.preset not in presets:
        presets.append(settings.preset)
    return presets


def _find_version(preset: Preset, number: int) -> PresetVersion:
    """Return the version that the panel showed, or the newest."""
    version: PresetVersion | None = preset.versions.filter(number=number).first()
    return version or preset.newest


def _find_upstreams(models: Iterable[ModelChoice], user: User) -> dict[ModelChoice, Upstream]:
    """Return those of the models that the person may use, each with its upstream."""
    upstreams = {}
    for model in models:
        with suppress(Refused):
            upstreams[model] = Upstream.get_for_choice(model, user.pk)
    return upstreams


def _names(offered: Mapping[ModelChoice, Upstream], settings: ChatSettings) -> dict[str, str]:
    """Return whose settings can be shown, by the model's value, with its name."""
    names = {"": "All models"}
    for model, upstream in offered.items():
        name = upstream.display_names.get(model.name) or model.name
        if name in names.values():
            name = f"{name} ({upstream.name})"
        names[str(model)] = name
    for value in settings.by_model or ():
        if value in names:
            names[value] += " (own settings)"
    return names


def _changes(offered: Mapping[ModelChoice, Upstream], settings: ChatSettings) -> list[str]:
    """Return what these models get differently from what is set, and why."""
    changes = {
        model: upstream.bound_parameters(
            model.name, settings.for_model(model).sent_parameters
        ).changes
        for model, upstream in offered.items()
    }
    return [
        f"{model.name}: {change.reason}" if len(offered) > 1 else change.reason
        for model, model_changes in changes.items()
        for change in model_changes
    ]


def _gateway_notes(offered: Mapping[ModelChoice, Upstream]) -> dict[str, str]:
    """Return what the gateways of these models do with parameters that the panel has fields for."""
    notes: dict[str, dict[str, None]] = {}
    for model, upstream in offered.items():
        for name, sentence in upstream.gateway.notes_on(model.name).items():
            notes.setdefault(name, {})[sentence] = None
    return {name: " ".join(sentences) for name, sentences in notes.items()}


def _allowed_tools(settings: ChatSettings) -> dict[str, ReadableName]:
    """Return how the tools that are always allowed are called, by their names for models."""
    titles = shared_registry().titles()
    return {
        name: readable_name(name, titles.get(name, ""))
        for name in sorted(settings.allowed_tools or ())
    }


def _panel(
    request: HttpRequest,
    conversation: Conversation | None,
    settings: ChatSettings,
    form: SettingsForm | None = None,
    *,
    is_saved: bool = False,
    is_unsaved: bool = False,
) -> HttpResponse:
    assert isinstance(request.user, User)
    parse = ModelField(required=False).to_python
    chosen = _find_upstreams(models_in(request), request.user)
    own = _find_upstreams(filter(None, map(parse, settings.by_model or ())), request.user)
    names = _names(chosen | own, settings) if len(chosen) > 1 or own else {}
    query = request.POST or request.GET
    # Fields that could not be applied are shown again.
    shown_model = parse(query.get("settings_of" if form else "show_of"))
    if form and shown_model:
        names.setdefault(str(shown_model), shown_model.name)
    if str(shown_model) not in names:
        shown_model = None
    content = settings.for_model(shown_model)
    concerned = _find_upstreams([shown_model], request.user) if shown_model else chosen
    context: dict[str, object] = {
        "conversation": conversation,
        "settings": settings,
        "allowed_tools": _allowed_tools(settings),
        "presets": _list_presets(settings, request.user),
        "may_change": settings.is_readable(request.user),
        "files": settings.preset_version.files if settings.preset_version else [],
        "models": names,
        "shown": str(shown_model or ""),
        "draft": DraftField.sign_settings(settings.own),
        "changes": _changes(concerned, settings),
        "gateway_notes": _gateway_notes(concerned),
        "form": form or SettingsForm.of(content.instructions, content.sent_parameters),
        "composer": conversation is None,
        "is_saved": is_saved,
        "is_unsaved": is_unsaved,
        "has_memory": bool(Memory.load_instructions(request.user.pk)),
    }
    if conversation and is_saved:
        context |= _build_meter(conversation, settings, request.user)
    return render(request, "chat/_settings.html", context)


def _build_meter(
    conversation: Conversation, settings: ChatSettings, user: User
) -> dict[str, object]:
    project = conversation.get_open_project(user)
    return meter_figures(settings, user, project, takes_memory=not conversation.is_temporary)
