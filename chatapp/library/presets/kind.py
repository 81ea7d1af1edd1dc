"""Presets as a kind of item in the pages of the library."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from asgiref.sync import async_to_sync
from django import forms
from django.db.models import Q, QuerySet

from chatapp.catalogue import Offer, filter_permitted_offers
from chatapp.library import saving
from chatapp.library.kinds import Kind
from chatapp.library.presets.formats import export_preset, presets_in
from chatapp.library.presets.forms import PresetForm
from chatapp.library.presets.words import describe_in_words
from chatapp.models import (
    ChatNotFound,
    ChatSettings,
    Conversation,
    Preset,
    ToolServer,
    Upstream,
    User,
    load_model_access,
)
from chatapp.models.library.file_sets import check_room_for_sets
from chatapp.models.library.presets import MAX_NAME_LENGTH, MAX_PRESETS
from chatapp.models.library.sharing import DELETED_DAYS, Level
from chatapp.realtime.worker import worker

LISTED = ("name", "icon", "description", "owner__username")
NAMED = 5  # problems that are told one by one


class ChatForm(forms.Form):
    """The query of the page that saves a chat's settings as a preset."""

    chat = forms.UUIDField()


class Presets(Kind[Preset]):
    name = "preset"
    model = Preset
    related = ("owner", "upstream")
    max_owned = MAX_PRESETS
    max_listed = 100
    max_unsearched = 12
    searched = "name or description"
    copied_at = Level.READ
    changed = "Saved. Chats that have an earlier version keep it."
    deleted = (
        f"Deleted. For {DELETED_DAYS} days it can be restored at the end of this page. Chats that "
        "were started from it keep it."
    )
    max_file_bytes = 1024 * 1024
    file_help = "A JSON file of up to {} that was exported here."

    def search(self, query: str) -> Any:
        is_named = Q(name__icontains=query) | Q(description__icontains=query)
        return Preset.objects.filter(is_named).select_related("owner").only(*LISTED)

    def form(self, user: User, data: Any, item: Preset | None = None) -> PresetForm:
        return PresetForm(data, user, offers_to(user), get_tool_names(user), item)

    def initial(self, user: User, query: Mapping[str, str]) -> Mapping[str, Any]:
        """Fill in what is set for a chat of the person's, named by `chat`."""
        form = ChatForm(query)
        if not form.is_valid():
            return {}
        try:
            chat = Conversation.get_own(user, form.cleaned_data["chat"])
        except ChatNotFound:
            return {}
        settings = ChatSettings.for_conversation(chat)
        if not settings.is_readable(user):
            return {}
        initial_values = PresetForm.build_initial(settings.instructions, settings.sent_parameters)
        return initial_values | {"name": chat.title[:MAX_NAME_LENGTH]}

    def read_context(self, user: User, item: Preset, may_read: bool) -> Mapping[str, Any]:
        parts = describe_in_words(item, get_tool_names(user))
        hidden = {"Name", "Icon", "Description"}
        visible_parts = parts.keys() - hidden if may_read else {"Model", "Suggestions"}
        return {
            "parts": {name: parts[name] for name in parts if name in visible_parts and parts[name]},
            "files": item.files if may_read else [],
        }

    def versions(self, item: Preset) -> "QuerySet[Any]":
        listed = ("number", "created_at", "author__username", "name", "target")
        return super().versions(item).only(*listed)

    def adapt_contents(self, owner: User, contents: Sequence[Mapping[str, Any]]) -> Sequence[Any]:
        check_room_for_sets(owner, {content.get("file_set_id") for content in contents})
        return contents

    def export_items(self, user: User, items: Iterable[Preset]) -> list[dict[str, Any]]:
        tools = get_tool_names(user)
        return [export_preset(preset, tools) for preset in items]

    def import_items(self, user: User, data: bytes) -> Sequence[str]:
        contents, problems = presets_in(data, user, offers_to(user), get_tool_names(user))
        added_count = len(saving.add(self, user, contents))
        sentences = [
            "1 preset was imported."
            if added_count == 1
            else f"{added_count} presets were imported."
        ]
        sentences += problems[:NAMED]
        if (more := len(problems) - NAMED) > 0:
            sentences.append(f"{more} more could not be taken as they are.")
        return sentences


PRESETS = Presets()


def offers_to(user: User) -> list[Offer]:
    """Return the models that the person may choose."""
    upstreams = list(Upstream.objects.filter(enabled=True))
    offers = worker().catalogue.get_cached_offers(upstreams)
    if offers is None:
        offers = async_to_sync(worker().catalogue.offers)(upstreams=upstreams)
    return filter_permitted_offers(offers, load_model_access(user.pk))


def get_tool_names(user: User) -> dict[int, str]:
    """Return the names of the tool servers that the person may use."""
    return {server.pk: server.name for server in ToolServer.all_enabled(user.pk) if server.is_open}
