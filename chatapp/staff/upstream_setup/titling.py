"""Proposes a small model for the titles of chats when the first provider is connected."""

import re
from collections.abc import Sequence

from django.http import HttpRequest

from chatapp.models import Installation, Upstream
from chatapp.staff.people.log import record
from chatapp.upstream.check import models_for_chat

# How providers name the small models of a family.
_SMALL = re.compile(
    r"(?<![a-z])(nano|mini|lite|flash|haiku|small|instant)(?![a-z])|\b[1-9]b\b", re.I
)


def propose_model(upstream: Upstream, listed: Sequence[str]) -> str:
    """Return a listed chat model whose name says that it is small.

    Returns "" without one, or if titles have a model or the upstream is connected already.
    """
    if upstream.enabled or upstream.is_demo or Installation.load().title_upstream_id:
        return ""
    return next(filter(_SMALL.search, models_for_chat(listed)), "")


def write_titles_with(request: HttpRequest, upstream: Upstream, model: str) -> None:
    """Let a model write the titles of chats; call it in a transaction."""
    installation = Installation.load()
    installation.title_upstream, installation.title_model = upstream, model
    installation.save()
    before = {"title_upstream": "", "title_model": ""}
    after = {"title_upstream": f"{upstream} ({upstream.pk})", "title_model": model}
    record(request, "installation.changed", installation, before=before, after=after)
