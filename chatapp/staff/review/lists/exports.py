"""Download of a filter's results: what the list shows, nothing that people wrote.

The download is streamed, and reads one page of conversations at a time.
"""

import csv
import json
from collections.abc import AsyncIterator, Callable, Iterable
from io import StringIO
from operator import attrgetter
from urllib.parse import urlencode

from channels.db import database_sync_to_async
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from chatapp.accounts.staff import reviewers_only
from chatapp.models import User, audit
from chatapp.models.billing.prices import DOLLAR
from chatapp.sessions.validity import get_person
from chatapp.staff.review.finding.filters import FilterForm
from chatapp.staff.review.finding.matches import Matches
from chatapp.staff.review.finding.positions import ReviewPosition
from chatapp.staff.review.finding.queue import Queue, find_matches
from chatapp.staff.review.lists.pages import load_page_keys
from chatapp.staff.review.lists.rows import Row, load_rows
from chatapp.staff.review.names import Names
from chatapp.text.spreadsheets import no_formula

COLUMNS = (
    *("id", "person", "begun_at", "used_at", "replies", "models", "tokens", "cost_usd"),
    *("endings", "flagged", "feedback_up", "feedback_down", "verdict", "labels", "decided_at"),
    *("flagged_by", "characters", "decided_unopened"),
)
TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl"}
NameGetter = Callable[[Names], str]


@require_GET
@reviewers_only
def export(request: HttpRequest) -> HttpResponseBase:
    """Stream the download, or redirect to the list, which shows what is wrong with the filter."""
    assert isinstance(request.user, User)
    form = FilterForm(request.GET, reviewer=request.user)
    kind = request.GET.get("format")
    if kind not in TYPES or not form.is_valid():
        return redirect(f"{reverse('review')}?{urlencode(form.sent_fields)}")
    is_pseudonymous = "pseudonyms" in request.GET
    with transaction.atomic():
        detail = {
            "asked": form.audit_filters,
            "format": kind,
            "people": "pseudonyms" if is_pseudonymous else "names",
        }
        audit.record("conversations.exported", actor=request.user, detail=detail)
    get_name: NameGetter = attrgetter("pseudonym" if is_pseudonymous else "whose")
    write = format_csv if kind == "csv" else format_json
    name = f"review-{timezone.now():%Y-%m-%d}.{kind}"
    return StreamingHttpResponse(
        _lines(find_matches(form.criteria), request.session.session_key or "", get_name, write),
        content_type=TYPES[kind],
        headers={
            "Content-Disposition": f'attachment; filename="{name}"',
            "X-Content-Type-Options": "nosniff",
        },
    )


async def _lines(
    matches: Matches | Queue,
    session_key: str,
    get_name: NameGetter,
    write: Callable[[dict[str, object]], str],
) -> AsyncIterator[str]:
    """Yield the file's lines.

    Raises `PermissionDenied` once the person is no longer a reviewer: the broken connection shows
    that the file is incomplete.
    """
    if write is format_csv:
        yield _csv_line(COLUMNS)
    position: ReviewPosition | None = None
    while True:
        rows, position = await database_sync_to_async(_load_batch)(matches, position, session_key)
        for row in rows:
            yield write(_build_record(row, get_name))
        if position is None:
            return


def _load_batch(
    matches: Matches | Queue, position: ReviewPosition | None, session_key: str
) -> tuple[list[Row], ReviewPosition | None]:
    if not get_person(session_key).reviews:
        raise PermissionDenied("This page is for reviewers.")
    keys, following = load_page_keys(matches, position)
    return load_rows(keys, matches.criteria.reviewer), following


def _build_record(row: Row, get_name: NameGetter) -> dict[str, object]:
    decided_at = row.review.decided_at if row.review else None
    values = (
        str(row.pk),
        get_name(row.names),
        row.begun.isoformat(),
        row.used.isoformat(),
        row.replies,
        sorted(row.models),
        row.tokens,
        row.cost / DOLLAR,
        dict(sorted(row.endings.items())),
        bool(row.flagged_by),
        row.feedback["up"],
        row.feedback["down"],
        row.review.verdict if row.review else "",
        [label.name for label in row.labels],
        decided_at.isoformat() if decided_at else None,
        row.flagged_by,
        row.characters,
        row.review.decided_unopened if row.review else False,
    )
    return dict(zip(COLUMNS, values, strict=True))


def format_json(record: dict[str, object]) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"


def format_csv(record: dict[str, object]) -> str:
    return _csv_line(map(_cell, record.values()))


def _cell(value: object) -> object:
    """Return a cell: lists as one text, and no text that a spreadsheet takes for a formula."""
    match value:
        case dict():
            return ", ".join(f"{name} {count}" for name, count in value.items())
        case list():
            return no_formula(", ".join(map(str, value)))
        case bool():
            return "yes" if value else "no"
        case str():
            return no_formula(value)
    return value


def _csv_line(cells: Iterable[object]) -> str:
    written = StringIO()
    csv.writer(written).writerow(cells)
    return written.getvalue()
