"""Views of the chat page and of its list of models."""

import json
import logging
from collections.abc import Sequence
from contextlib import suppress
from urllib.parse import urlencode
from uuid import UUID, uuid4

from asgiref.sync import async_to_sync
from django.contrib.auth.decorators import login_required
from django.contrib.messages import get_messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_GET

from chatapp.catalogue import Offer, filter_permitted_offers
from chatapp.chat import sidebar, thread_views
from chatapp.chat.first_steps import first_steps
from chatapp.chat.queries import parse_uuid
from chatapp.demo.suggestions import SUGGESTIONS
from chatapp.models import (
    ChatNotFound,
    ChatSettings,
    Conversation,
    Installation,
    ModelChoice,
    Preset,
    Project,
    ReviewPolicy,
    Suggestion,
    ThreadPage,
    Upstream,
    Usage,
    User,
    load_model_access,
)
from chatapp.models.billing.quota_usage import quota_usages, warning
from chatapp.models.files.attachments import drafted_files
from chatapp.parameters.controls import Controls
from chatapp.parameters.table import EFFORT_NAMES
from chatapp.realtime.worker import worker
from chatapp.rendering import fragments
from chatapp.server_interface import UPSTREAM_THREADS, run_in

logger = logging.getLogger(__name__)


@require_GET
@never_cache
@login_required
def chat(request: HttpRequest) -> HttpResponse:
    return chat_page(request)


@require_GET
@never_cache
@login_required
def conversation(request: HttpRequest, pk: UUID) -> HttpResponse:
    return chat_page(request, thread_views.get_own_conversation(request, pk))


# The only compressed page. It reflects nothing from the URL, so nobody can use its size to guess
# its secrets (BREACH). Its tokens are masked afresh each time, and Django adds a random length.
@gzip_page
def chat_page(
    request: HttpRequest,
    conversation: Conversation | None = None,
    project: Project | None = None,
) -> HttpResponse:
    """Return the page of a conversation, or of a new chat, in a project if one is given."""
    assert isinstance(request.user, User)
    upstreams = Upstream.all_enabled(request.user.pk)
    offers, live = _load_offers_and_replies(upstreams, conversation)
    offers = filter_permitted_offers(offers, load_model_access(request.user.pk))
    at, view = _open_requested_view(request, conversation)
    preset = None if view else _find_preset(request, project)
    preselected, notes = (
        (_list_chosen_models(view), NO_NOTES) if view else _beginning(request.user, project, preset)
    )
    context: dict[str, object] = {
        "conversation": conversation,
        "project": conversation.get_open_project(request.user) if conversation else project,
        "at": at,
        "head": view.end if view else None,
        "is_long": view is not None and (view.has_earlier or view.has_later),
        "thread": thread_views.render_thread_page(view, live) if view else "",
        **_models(offers, preselected),
        "are_connected": bool(upstreams),
        "has_tool_servers": any(upstream.calls_servers for upstream in upstreams),
        **notes,
        # An administrator who has just connected a model is sent here.
        "told": get_messages(request) if "model" in request.GET else (),
        "prompt_id": uuid4(),
        "presets": [] if conversation or preset else Preset.list_for_new_chat(request.user),
        "suggestions": _suggestions(offers, preset, project, view),
        "first_steps": [] if conversation or project else first_steps(request.user, upstreams),
        **_project_page(request, project, preset),
        "limit_warning": warning(quota_usages(request.user)),
        **_draft(request.user, conversation),
        "used_tokens": _used_tokens(request.user, conversation, view),
        **_settings(request.user, conversation, project, preset),
        "policy": ReviewPolicy.at(conversation.created_at) if conversation else ReviewPolicy.now(),
    }
    if request.headers.get("HX-Request") and not request.headers.get("HX-History-Restore-Request"):
        return render(request, "chat/_main.html", context)
    context |= sidebar.build_context(request)
    context["socket_url"] = _socket_url(view)
    return render(request, "chat/page.html", context)


def _settings(
    person: User,
    conversation: Conversation | None,
    project: Project | None,
    preset: Preset | None,
) -> dict[str, object]:
    """Return the settings and the figures of the meter, of a chat or of a new one."""
    if conversation:
        settings, project = (
            ChatSettings.for_conversation(conversation),
            conversation.get_open_project(person),
        )
    else:
        settings = ChatSettings(preset_version=preset.newest if preset else None)
    takes_memory = not (conversation and conversation.is_temporary)
    figures = meter_figures(settings, person, project, takes_memory=takes_memory)
    may_choose = settings.is_readable(person)
    return {"preset": settings.preset, "settings": settings, "may_choose": may_choose, **figures}


def meter_figures(
    settings: ChatSettings, user: User, project: Project | None, *, takes_memory: bool
) -> dict[str, object]:
    """Return what the meter at the composer needs of a chat's settings: by model, and under "" for
    all others, the characters of the system message and the maximum output.

    The maximum output stays unknown to people who may not read the preset.
    """
    may_read = settings.is_readable(user)
    figures = {}
    for model in ("", *(settings.by_model or ())):
        own = settings.for_model(model)
        message = own.system_message(user, project, takes_memory=takes_memory)
        max_output = own.sent_parameters.get("max_output_tokens") if may_read else None
        figures[model] = [len(message), max_output]
    files = settings.preset_version.files if settings.preset_version else []
    return {
        "meter_figures": json.dumps(figures),
        "preset_tokens": sum(file.tokens for file in files),
        "preset_has_images": any(file.has_images for file in files),
    }


def _draft(person: User, conversation: Conversation | None) -> dict[str, object]:
    """Return the context of the files that wait in the composer."""
    return {"attachments": drafted_files(person, conversation.pk if conversation else None)}


def _used_tokens(
    person: User, conversation: Conversation | None, view: ThreadPage | None
) -> int | None:
    """Return what the chat fills of a context, if the messages on the page do not say it."""
    if conversation and view and view.end and conversation.cut_changes:
        return conversation.sent_tokens(view.end.pk)
    if view and view.end and view.has_later:
        return Usage.context_tokens(person, view.end.pk)
    return None


NO_NOTES: dict[str, object] = {"notice": "", "says_closing_stops": False}


def _find_preset(request: HttpRequest, project: Project | None) -> Preset | None:
    """Return the preset that the query names, or else the project's, if the person may use it."""
    assert isinstance(request.user, User)
    preset_id = request.GET.get("preset")
    pk = (
        parse_uuid(preset_id) if preset_id is not None else (project.preset_id if project else None)
    )
    preset: Preset | None = (
        Preset.objects.open_to(request.user).filter(pk=pk).first() if pk else None
    )
    return preset


def _project_page(
    request: HttpRequest, project: Project | None, preset: Preset | None
) -> dict[str, object]:
    """Return the context of what a project's page has besides a new chat."""
    assert isinstance(request.user, User)
    return {
        "presets_to_choose": Preset.objects.list_choices(request.user) if project else [],
        "filed": sidebar.build_project_context(request, project) if project else None,
        "about_project": _about(request.user, project, preset) if project else None,
    }


def _about(user: User, project: Project, preset: Preset | None) -> dict[str, bool]:
    """Return what the page of a project says to its owner, or to a member."""
    is_own = project.user_id == user.pk
    return {
        "is_own": is_own,
        "is_shared": not is_own or project.is_shared,
        "lets_add": is_own or project.is_writable_by(user),
        "is_named": not is_own and project.members.filter(person=user).exists(),
        "lacks_preset": not is_own and project.preset_id is not None and preset is None,
    }


def _beginning(
    person: User, project: Project | None, preset: Preset | None
) -> tuple[list[str], dict[str, object]]:
    """Return the models to preselect in a new chat, and the notes on its page."""
    installation, used = Installation.load(), Conversation.find_last_used_model(person)
    notes = {
        "notice": installation.notice,
        # Said once: before the first prompt.
        "says_closing_stops": not (used or installation.finishes(person)),
        "can_choose_closing": installation.closing == Installation.Closing.CHOOSE,
    }
    return _list_preselected_models(project, preset, used, installation), notes


def _open_requested_view(
    request: HttpRequest, conversation: Conversation | None
) -> tuple[UUID | None, ThreadPage | None]:
    """Return the message to scroll to, if any, and the part of the conversation to show.

    The query names a message: `around`, `at` and `reply` show what surrounds it, `through` the end
    of its branch. Without one that exists, the newest messages of the last read branch are shown.

    Opening a branch makes it the last read one although this is a GET: the conversation is the
    person's own, and loading the page again changes nothing.
    """
    if conversation is None:
        return None, None
    views = {
        "around": conversation.open_around,  # where a returning reader was
        "at": conversation.open_around,
        "reply": conversation.open_around,
        "through": conversation.open_at_end,
    }
    for name, open_view in views.items():
        if message := parse_uuid(request.GET.get(name, "")):
            with suppress(ChatNotFound):
                view = open_view(message)
                return message if name == "at" else None, view
    return None, conversation.view()


def _load_offers_and_replies(
    upstreams: list[Upstream], conversation: Conversation | None
) -> tuple[list[Offer], list[fragments.ReplyView]]:
    """Return the offered models, and the replies running in the conversation so far."""
    offers = worker().catalogue.get_cached_offers(upstreams)
    is_live = conversation and (
        conversation.is_temporary or worker().replies.for_conversation(conversation.pk)
    )
    if offers is None or is_live:
        return async_to_sync(_load_on_event_loop)(upstreams, conversation)
    return offers, []


async def _load_on_event_loop(
    upstreams: list[Upstream], conversation: Conversation | None
) -> tuple[list[Offer], list[fragments.ReplyView]]:
    """Load both on the event loop: only there can it ask an upstream or read a running reply."""
    offers = await worker().catalogue.offers(upstreams=upstreams)
    if conversation and conversation.is_temporary:
        worker().temporaries.open(conversation.pk)
    return offers, await thread_views.live_in(conversation.pk) if conversation else []


@run_in(UPSTREAM_THREADS)
@require_GET
@never_cache
@login_required
def models(request: HttpRequest) -> HttpResponse:
    """The model picker and its notes, for a page that did not wait for a slow upstream."""
    assert isinstance(request.user, User)
    pk = parse_uuid(request.GET.get("conversation", ""))
    conversation = request.user.conversations.not_trashed().filter(pk=pk).first() if pk else None
    pk = parse_uuid(request.GET.get("project", ""))
    project = Project.objects.open_to(request.user).filter(pk=pk).first() if pk else None
    connected = async_to_sync(_all_offers)()
    offers = filter_permitted_offers(connected, load_model_access(request.user.pk))
    shown_model = request.GET.get("model", "")
    preselected = [] if shown_model == request.GET.get("stopgap") else [shown_model]
    preset = None if conversation else _find_preset(request, project)
    if conversation:
        preselected += _list_chosen_models(conversation.view())
    else:
        used = Conversation.find_last_used_model(request.user)
        preselected += _list_preselected_models(project, preset, used, Installation.load())
    context = {
        "conversation": conversation,
        "project": project,
        "preset": preset,
        **_models(offers, preselected),
        "are_connected": bool(connected),
    }
    return render(request, "chat/_models.html", context)


async def _all_offers() -> list[Offer]:
    return await worker().catalogue.offers(wait_for_all=True)


def _models(offers: list[Offer], preselected: list[str]) -> dict[str, object]:
    """Return the picker's context. It chooses the first preselected model that is offered.

    If none is, the first one offered is chosen, as a stopgap while more models are awaited.
    """
    offered = {value: (offer, model) for offer in offers for value, model in offer.choices}
    chosen = next((value for value in (*preselected, *offered) if value in offered), "")
    offer, model = offered.get(chosen, (None, None))
    return {
        "offers": offers,
        "chosen_model": chosen,
        "controls": offer.upstream.controls_for(model) if offer and model else Controls(),
        "efforts": [("", "Default effort"), *EFFORT_NAMES.items()],
        "awaits_models": any(offer.is_awaited for offer in offers),
        "stopgap": "" if chosen in preselected else chosen,
    }


def _list_chosen_models(view: ThreadPage) -> list[str]:
    """Return the models chosen for a conversation's replies, the last one first."""
    last_first = [*view.beside, *reversed(view.thread)]
    return [fragments.chosen_model(message) for message in last_first]


def _list_preselected_models(
    project: Project | None,
    preset: Preset | None,
    used: ModelChoice | None,
    installation: Installation,
) -> list[str]:
    """Return the models to preselect in a new chat if the browser remembers no choice.

    In order: the model of the preset, of the project, the one the person used last, the
    administrator's default.
    """
    preselected = (source.preselected_model for source in (preset, project) if source)
    choices = (*preselected, used, installation.default_choice)
    return [str(choice) for choice in choices if choice]


def _suggestions(
    offers: list[Offer], preset: Preset | None, project: Project | None, view: ThreadPage | None
) -> Sequence[str]:
    """Return the suggestions for a chat without messages.

    They are the preset's. Without any, and outside projects, they are the administrator's, or the
    demo's if only the demo offers models.
    """
    if view and view.visible_messages:
        return ()
    if preset and preset.suggestions:
        return list(preset.suggestions)
    if project:
        return []
    is_demo = all(offer.upstream.is_demo for offer in offers)
    return Suggestion.list_visible() or (SUGGESTIONS if offers and is_demo else ())


def _socket_url(view: ThreadPage | None) -> str:
    """Return the URL of the socket for a tab that shows this part of a conversation."""
    if view is None:
        return "/ws/"
    seen = {"conversation": str(view.conversation.pk)}
    if head := view.head:
        seen |= {"head": str(head.pk), "ending": view.ending}
    if view.has_later:
        seen["later"] = "on"
    return f"/ws/?{urlencode(seen)}"
