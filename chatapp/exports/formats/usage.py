"""Writes what chats have used as CSV: a row for each reply, title and summary."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any
from uuid import UUID

from django.db.models import Q

from chatapp.exports.reading import ChatReader
from chatapp.models import Usage
from chatapp.text.spreadsheets import csv_line, in_dollars

CHATS_AT_ONCE = 100
KINDS = {Usage.Kind.SUMMARY: "summary"}  # as people know it
COLUMNS = (
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
    "extra_fees",
    "cost",
)


def usage_csv(reader: ChatReader) -> Iterator[bytes]:
    yield csv_line(("chat", "title", *COLUMNS[:-1], "cost_usd"))
    keys = iter(reader.chats)
    while batch := list(islice(keys, CHATS_AT_ONCE)):
        yield from _rows(reader, batch)
        for _ in batch:
            reader.on_chat()


def _rows(reader: ChatReader, chats: Sequence[UUID]) -> Iterator[bytes]:
    own = reader.person.conversations.not_trashed().filter(pk__in=chats)
    titles = dict(own.values_list("pk", "title"))
    existing = Q(message__conversation__in=titles, message__deleted_at=None)
    # The key of a title's usage is the chat's; a summary names the chat.
    of_these = existing | Q(pk__in=titles) | Q(conversation__in=titles)
    usages = Usage.objects.filter(of_these).order_by("booked_at", "pk")
    columns = ("message__conversation", "conversation", "pk", *COLUMNS)
    for of_message, of_summary, pk, *row in usages.values_list(*columns).iterator(500):
        chat = of_message or of_summary or pk
        yield csv_line((str(chat), titles.get(chat, ""), *usage_row(row)))


def usage_row(row: Sequence[Any]) -> tuple[Any, ...]:
    """Return values of `COLUMNS` as a spreadsheet shows them."""
    booked_at, kind, *values, cost = row
    return booked_at, KINDS.get(kind, kind), *values, in_dollars(cost)
