"""A person's data as one ZIP archive, including chats that are in the trash, deleted but still
kept, or temporary, marked as such.

The archive is created while it is sent, a few messages at a time, so that it is never in memory or
on disk as a whole.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import UUID
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

from allauth.socialaccount.models import SocialAccount
from channels.db import database_sync_to_async
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from chatapp.accounts.confirmation import ask_to_confirm, is_confirmed
from chatapp.exports.formats.json_lines import json_lines
from chatapp.exports.reading import Reading
from chatapp.exports.streaming import streamed
from chatapp.exports.zipped import Sink
from chatapp.models import Memory, ReplyImage, SharedChat, Usage, User, audit
from chatapp.sessions.validity import person_of
from chatapp.staff.privacy.archived_files import ArchivedFile, archived_files
from chatapp.staff.privacy.archived_library import archived_library
from chatapp.staff.privacy.queries import all_staff_accesses
from chatapp.text.spreadsheets import csv_line, in_dollars

logger = logging.getLogger(__name__)

USAGE = (
    "booked_at",
    "kind",
    "upstream_name",
    "model",
    "ending",
    "first_token_ms",
    "duration_ms",
    "provenance",
    "prompt_tokens",
    "completion_tokens",
    "cached_tokens",
    "reasoning_tokens",
    "total_tokens",
    "cost",
)
KINDS = {Usage.Kind.SUMMARY: "summary"}  # as people know it
AT_ONCE = 500  # usage rows per query


@require_POST
@login_required
def archive(request: HttpRequest) -> HttpResponseBase:
    assert isinstance(request.user, User)
    if not is_confirmed(request):
        return ask_to_confirm(reverse("privacy"))
    with transaction.atomic():
        audit.record("archive.made", actor=request.user, about=request.user)
        conversations = list(request.user.conversations.values_list("pk", flat=True))
        about = _about(request.user)
    name = f"chatapp-{timezone.now():%Y-%m-%d}.zip"
    return StreamingHttpResponse(
        _zipped(request.session.session_key or "", request.user, about, conversations),
        content_type="application/zip",
        headers={
            "Content-Disposition": f'attachment; filename="{name}"',
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
        },
    )


async def _zipped(
    session_key: str, person: User, about: dict[str, Any], conversations: list[UUID]
) -> AsyncIterator[bytes]:
    """Yield the archive's bytes. Raises `NotSignedIn` once the session has ended.

    Compression runs in threads, so that it does not delay everybody's replies on the event loop.
    """
    sink = Sink()
    with ZipFile(sink, "w", ZIP_DEFLATED) as archive:
        for name, content in about.items():
            archive.writestr(name, json.dumps(content, ensure_ascii=False, indent=2) + "\n")
        with archive.open("conversations.jsonl", "w", force_zip64=True) as file:
            chats = Reading(person, conversations, with_deleted=True)
            async for piece in streamed(json_lines(chats), session_key):
                await asyncio.to_thread(file.write, piece)
                yield sink.drain()
        files, contents = await database_sync_to_async(archived_files)(person)
        archive.writestr("files.json", json.dumps(files, ensure_ascii=False, indent=2) + "\n")
        for content in contents:
            await database_sync_to_async(person_of)(session_key)
            async for _ in _added(archive, content):
                yield sink.drain()
        for pk in await database_sync_to_async(_keys_of_images)(person):
            await database_sync_to_async(person_of)(session_key)
            for name, data in await database_sync_to_async(_image)(pk):
                await asyncio.to_thread(archive.writestr, name, data, ZIP_STORED)
                yield sink.drain()
        for name, pieces in archived_library(person).items():
            with archive.open(name, "w", force_zip64=True) as file:
                while piece := await database_sync_to_async(next)(pieces, ""):
                    await asyncio.to_thread(file.write, piece.encode())
                    yield sink.drain()
        with archive.open("usage.csv", "w", force_zip64=True) as file:
            file.write(csv_line((*USAGE[:-1], "cost_usd")))
            keys = await database_sync_to_async(_keys_of_usage)(person)
            for start in range(0, len(keys), AT_ONCE):
                chunk = keys[start : start + AT_ONCE]
                rows = await database_sync_to_async(_usage)(chunk)
                await asyncio.to_thread(file.write, b"".join(map(csv_line, rows)))
                yield sink.drain()
    yield sink.drain()


async def _added(archive: ZipFile, content: ArchivedFile) -> AsyncIterator[None]:
    """Add a file to the archive, a chunk per step; a lost one is left out."""
    chunks = content.chunks()
    try:
        chunk = await asyncio.to_thread(next, chunks, b"")
    except FileNotFoundError:
        logger.error("The archive lacks a file that is lost: %s", content.stored_name)
        return
    with archive.open(content.path, "w", force_zip64=True) as member:
        while chunk:
            await asyncio.to_thread(member.write, chunk)
            yield
            chunk = await asyncio.to_thread(next, chunks, b"")


def _keys_of_images(person: User) -> list[int]:
    theirs = ReplyImage.objects.filter(message__conversation__user=person)
    return list(theirs.values_list("pk", flat=True))


def _image(pk: int) -> list[tuple[str, bytes]]:
    """Return an image's name in the archive and its bytes; nothing if it is gone meanwhile."""
    image = ReplyImage.objects.select_related("file").filter(pk=pk).first()
    if image is None:
        return []
    kind = image.media_type.removeprefix("image/")
    try:
        return [(f"images/{image.message_id}-{image.position}.{kind}", image.read())]
    except FileNotFoundError:
        logger.error("The archive lacks %s of reply %s: its file is lost", image, image.message_id)
        return []


def _keys_of_usage(person: User) -> list[UUID]:
    return list(person.usage.order_by("booked_at").values_list("pk", flat=True))


def _usage(keys: list[UUID]) -> list[tuple[Any, ...]]:
    rows = Usage.objects.filter(pk__in=keys).order_by("booked_at").values_list(*USAGE)
    return [
        (booked_at, KINDS.get(kind, kind), *values, in_dollars(cost))
        for booked_at, kind, *values, cost in rows
    ]


def _about(person: User) -> dict[str, Any]:
    """Return the small files by name: the account, its projects, and what staff opened."""
    memory = Memory.objects.filter(user=person)
    return {
        "account.json": {
            "username": person.username,
            "first_name": person.first_name,
            "last_name": person.last_name,
            "email": person.email,
            "roles": person.roles,
            "groups": [group.name for group in person.groups.order_by("name")],
            "joined_at": person.date_joined.isoformat(),
            "seen_at": person.seen_at.isoformat() if person.seen_at else None,
            "signed_in_at": person.last_login.isoformat() if person.last_login else None,
            "finishes_replies": person.finishes_replies,
            "memory": memory.values("about", "answers", "is_on").first(),
            "organisation": [one.extra_data for one in SocialAccount.objects.filter(user=person)],
            "devices": [
                {
                    "name": one.name,
                    "agent": one.agent,
                    "address": one.address,
                    "began_at": one.began_at.isoformat(),
                    "seen_at": one.seen_at.isoformat(),
                }
                for one in person.devices.living()
            ],
            "access_tokens": [
                {
                    "name": one.name,
                    "last_characters": one.last_characters,
                    "scopes": one.scopes,
                    "created_at": one.created_at.isoformat(),
                    "expires_at": one.expires_at.isoformat() if one.expires_at else None,
                    "last_used_at": one.last_used_at.isoformat() if one.last_used_at else None,
                }
                for one in person.access_tokens.all()
            ],
        },
        "projects.json": [
            {
                "name": project.name,
                "instructions": project.instructions,
                "model": project.model,
                "preset": project.preset.name if project.preset else None,
                "created_at": project.created_at.isoformat(),
                "members": [
                    {"person_or_group": one.name, "may_add": one.may_add}
                    for one in project.members.select_related("person", "group")
                ],
            }
            for project in person.projects.select_related("preset")
        ],
        "shared_links.json": [_shared_link(one) for one in SharedChat.objects.of(person)],
        "imports.json": [
            {
                "name": job.name,
                "source": job.source,
                "state": job.state,
                "phase": job.phase,
                "problem": job.problem,
                "created_at": job.created_at.isoformat(),
                "started_at": job.started_at.isoformat() if job.started_at else None,
                "ended_at": job.ended_at.isoformat() if job.ended_at else None,
                "makes_projects": job.makes_projects,
                "preview": job.preview,
                "result": job.result,
            }
            for job in person.imports.all()
        ],
        "opened.json": list(_looks(person)),
    }


def _shared_link(link: SharedChat) -> dict[str, Any]:
    return {
        "id": str(link.pk),
        "conversation": str(link.conversation_id),
        "message": str(link.message_id) if link.message_id else None,
        "audience": link.audience_names,
        "is_public": link.is_public,
        "shows_reasoning": link.shows_reasoning,
        "shows_tools": link.shows_tools,
        "shows_files": link.shows_files,
        "shows_author": link.shows_author,
        "last_characters": link.last_characters,
        "created_at": link.created_at.isoformat(),
        "expires_at": link.expires_at.isoformat() if link.expires_at else None,
        "last_used_at": link.last_used_at.isoformat() if link.last_used_at else None,
    }


def _looks(person: User) -> Iterator[dict[str, Any]]:
    for look in all_staff_accesses(person):
        yield {
            "at": look.at.isoformat(),
            "who": look.who,
            "what": look.words,
            "conversation": look.target,
            "reason": look.reason,
        }
