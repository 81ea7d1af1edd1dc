"""The presets that a person may use, and what they may choose for one."""

from typing import Any
from uuid import UUID

from asgiref.sync import async_to_sync
from django.db.models import Q
from django.shortcuts import get_object_or_404

from chatapp.catalogue import Offer, open_to
from chatapp.models import Preset, ToolServer, Upstream, User, permitted
from chatapp.models.library.sharing import Level
from chatapp.realtime.worker import worker

LISTED = ("name", "icon", "description", "owner__username")


def found(user: User, pk: UUID, level: Level = Level.USE) -> Preset:
    """Return a preset that the person owns or has this level on; else the page is missing."""
    presets = Preset.objects.open_to(user, level).select_related("owner", "upstream")
    preset: Preset = get_object_or_404(presets, pk=pk)
    return preset


def named(query: str) -> Any:
    """Return the presets with this in their name or description, for a list."""
    is_named = Q(name__icontains=query) | Q(description__icontains=query)
    return Preset.objects.filter(is_named).select_related("owner").only(*LISTED)


def offers_to(user: User) -> list[Offer]:
    """Return the models that the person may choose."""
    upstreams = list(Upstream.objects.filter(enabled=True))
    offers = worker().catalogue.known_offers(upstreams)
    if offers is None:
        offers = async_to_sync(worker().catalogue.offers)(upstreams=upstreams)
    return open_to(offers, permitted(user.pk))


def tools_of(user: User) -> dict[int, str]:
    """Return the names of the tool servers that the person may use."""
    return {one.pk: one.name for one in ToolServer.all_enabled(user.pk) if one.is_open}
