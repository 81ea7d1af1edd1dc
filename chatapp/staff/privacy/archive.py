"""A person's data as one ZIP archive, including chats that are in the trash, deleted but still
kept, or temporary, marked as such.

The archive is created while it is sent, a few messages at a time, so that it is never in memory or
on disk as a whole.
"""

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from chatapp.accounts.confirmation import ask_to_confirm, is_confirmed
from chatapp.exports.contents import read_chunks
from chatapp.exports.formats.json_lines import json_lines
from chatapp.exports.formats.usage import COLUMNS, usage_row
from chatapp.exports.reading import ChatReader
from chatapp.exports.streaming import stream_pieces
from chatapp.exports.zipped import Zip
from chatapp.models import ReplyImage, Usage, User, audit
from chatapp.models.files import storage
from chatapp.staff.privacy.archived_account import archived_account
from chatapp.staff.privacy.archived_files import archived_files, get_images, image_path
from chatapp.staff.privacy.archived_library import archived_library
from chatapp.text.spreadsheets import csv_line

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
        stream_pieces(
            _write_archive(request.user, about, conversations), request.session.session_key or ""
        ),
        content_type="application/zip",
        headers={
            "Content-Disposition": f'attachment; filename="{name}"',
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
        },
    )


def _write_archive(
    person: User, about: dict[str, Any], conversations: list[UUID]
) -> Iterator[bytes]:
    archive = Zip()
    for name, content in about.items():
        yield from archive.add(name, [_json(content)])
    chats = ChatReader(person, conversations, with_deleted=True)
    yield from archive.add("conversations.jsonl", json_lines(chats))
    files, contents = archived_files(person)
    yield from archive.add("files.json", [_json(files)])
    for content in contents:
        yield from archive.add_file(content.path, storage.read_chunks(content.stored_name))
    for pk in list(get_images(person).values_list("pk", flat=True)):
        if image := ReplyImage.objects.select_related("file").filter(pk=pk).first():
            yield from archive.add_file(image_path(image), read_chunks(image), packed=False)
    for name, pieces in archived_library(person).items():
        yield from archive.add(name, map(str.encode, pieces))
    yield from archive.add("usage.csv", _usage(person))
    yield from archive.close()


def _json(content: object) -> bytes:
    return f"{json.dumps(content, ensure_ascii=False, indent=2)}\n".encode()


def _usage(person: User) -> Iterator[bytes]:
    yield csv_line((*COLUMNS[:-1], "cost_usd"))
    # No query stays open in between: each piece may be made with another connection.
    keys = list(person.usage.order_by("booked_at").values_list("pk", flat=True))
    for start in range(0, len(keys), AT_ONCE):
        batch = Usage.objects.filter(pk__in=keys[start : start + AT_ONCE]).order_by("booked_at")
        yield b"".join(csv_line(usage_row(row)) for row in batch.values_list(*COLUMNS))
