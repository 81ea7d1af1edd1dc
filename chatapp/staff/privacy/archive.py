"""A person's data as one ZIP archive, including chats that are in the trash, deleted but still
kept, or temporary, marked as such.

The archive is created while it is sent, a few messages at a time, so that it is never in memory or
on disk as a whole.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

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
from chatapp.exports.formats.usage import COLUMNS, usage_row
from chatapp.exports.reading import ChatReader
from chatapp.exports.streaming import stream_pieces
from chatapp.exports.zipped import Sink
from chatapp.models import ReplyImage, Usage, User, audit
from chatapp.sessions.validity import get_person
from chatapp.staff.privacy.archived_account import archived_account
from chatapp.staff.privacy.archived_files import (
    ArchivedFile,
    archived_files,
    get_images,
    image_path,
)
from chatapp.staff.privacy.archived_library import archived_library
from chatapp.text.spreadsheets import csv_line

logger = logging.getLogger(__name__)

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
        about = archived_account(request.user)
    name = f"chatapp-{timezone.now():%Y-%m-%d}.zip"
    return StreamingHttpResponse(
        _stream_archive(request.session.session_key or "", request.user, about, conversations),
        content_type="application/zip",
        headers={
            "Content-Disposition": f'attachment; filename="{name}"',
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
        },
    )


async def _stream_archive(
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
            chats = ChatReader(person, conversations, with_deleted=True)
            async for piece in stream_pieces(json_lines(chats), session_key):
                await asyncio.to_thread(file.write, piece)
                yield sink.drain()
        files, contents = await database_sync_to_async(archived_files)(person)
        archive.writestr("files.json", json.dumps(files, ensure_ascii=False, indent=2) + "\n")
        for content in contents:
            await database_sync_to_async(get_person)(session_key)
            async for _ in _add_file(archive, content):
                yield sink.drain()
        for pk in await database_sync_to_async(_load_image_keys)(person):
            await database_sync_to_async(get_person)(session_key)
            for name, data in await database_sync_to_async(_image)(pk):
                await asyncio.to_thread(archive.writestr, name, data, ZIP_STORED)
                yield sink.drain()
        for name, pieces in archived_library(person).items():
            with archive.open(name, "w", force_zip64=True) as file:
                while piece := await database_sync_to_async(next)(pieces, ""):
                    await asyncio.to_thread(file.write, piece.encode())
                    yield sink.drain()
        with archive.open("usage.csv", "w", force_zip64=True) as file:
            file.write(csv_line((*COLUMNS[:-1], "cost_usd")))
            keys = await database_sync_to_async(_load_usage_keys)(person)
            for start in range(0, len(keys), AT_ONCE):
                chunk = keys[start : start + AT_ONCE]
                rows = await database_sync_to_async(_usage)(chunk)
                await asyncio.to_thread(file.write, b"".join(map(csv_line, rows)))
                yield sink.drain()
    yield sink.drain()


async def _add_file(archive: ZipFile, content: ArchivedFile) -> AsyncIterator[None]:
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


def _load_image_keys(person: User) -> list[int]:
    return list(get_images(person).values_list("pk", flat=True))


def _image(pk: int) -> list[tuple[str, bytes]]:
    """Return an image's name in the archive and its bytes; nothing if it is gone meanwhile."""
    image = ReplyImage.objects.select_related("file").filter(pk=pk).first()
    if image is None:
        return []
    try:
        return [(image_path(image), image.read())]
    except FileNotFoundError:
        logger.error("The archive lacks %s of reply %s: its file is lost", image, image.message_id)
        return []


def _load_usage_keys(person: User) -> list[UUID]:
    return list(person.usage.order_by("booked_at").values_list("pk", flat=True))


def _usage(keys: list[UUID]) -> list[tuple[Any, ...]]:
    rows = Usage.objects.filter(pk__in=keys).order_by("booked_at").values_list(*COLUMNS)
    return [usage_row(row) for row in rows]
