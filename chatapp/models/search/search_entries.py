"""The search index: one or more entries for each message with its files, and one for each title.

Messages and titles record themselves what has been indexed (`Message.indexed_at`,
`Conversation.indexed_title`), so code that stores them notifies nobody: `index_some` picks them up
soon after, and again after a crash. Deleted rows take their entries with them. The trash, and
deleted messages that can still be restored, keep theirs but are not found.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import chain
from typing import NamedTuple, TypeVar
from uuid import UUID

from django.db import connection, models, transaction
from django.db.models import F
from django.utils import timezone

from chatapp.db.locks import one_at_a_time
from chatapp.models.accounts.users import User
from chatapp.models.conversations.chats.conversation import Conversation
from chatapp.models.conversations.chats.titled import UNINDEXED_TITLE
from chatapp.models.conversations.messages.messages import Message, get_texts
from chatapp.models.conversations.threads.context_cuts import load_opening_summaries, load_summaries
from chatapp.models.review.judging import await_judging, judge_some
from chatapp.models.search import full_text
from chatapp.models.search.file_texts import (
    MAX_CHARACTERS,
    FileText,
    file_texts,
    load_file_keys,
    slices,
)
from chatapp.models.search.full_text import Row
from chatapp.text.indexing import entries, mark, name_marks

MESSAGES_AT_ONCE, TITLES_AT_ONCE = 60, 100
CHARACTERS_AT_ONCE = 300_000  # beyond which a batch takes no further message
IDS_PER_SECOND = 1024  # ids per second
FENCE = re.compile(r"^ {0,3}(```|~~~)", re.MULTILINE)
# Marks in an entry: who wrote it, the model that wrote it, and whether it contains code.
PROMPT, REPLY, TITLE, CODE, MODEL = "me", "reply", "title", "code", "model"

INDEXED_FIELDS = (
    *("role", "model", "created_at", "file_count"),
    *("reasoning", "content", "refusal", "earlier_rounds", "tool_runs", "extras_record"),
)
LOADED_FIELDS = ("conversation__user", *INDEXED_FIELDS)

M = TypeVar("M", bound=models.Model)


class SearchEntry(models.Model):
    """An indexed title or part of a message. `full_text` stores its words outside of the ORM."""

    # Rises with the time at which the message was stored, not indexed: so the newest are found
    # first, and a day's entries have a range of ids.
    id = models.BigIntegerField(primary_key=True)
    user = models.ForeignKey(User, models.CASCADE, related_name="+", db_index=False)
    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="+")
    message = models.ForeignKey(Message, models.CASCADE, null=True, related_name="+")

    class Meta:
        indexes = [models.Index(fields=["user", "id"])]

    def __str__(self) -> str:
        return f"entry {self.pk}"


class _Draft(NamedTuple):
    at: datetime
    user: int
    conversation: UUID
    message: UUID | None
    words: list[str]


def first_id(moment: datetime) -> int:
    """Return the smallest id of an entry of this second or later."""
    return int(moment.timestamp()) * IDS_PER_SECOND


def index_some() -> int:
    """Index some messages and titles, the newest first, then judge some messages by the rules;
    return how many there were."""
    done = 0
    messages = _messages().filter(indexed_at=None)
    if messages.exists():  # else don't make writers wait
        done += len(_index_messages(messages.order_by("-created_at")))
    titles = _titles().filter(UNINDEXED_TITLE)
    if titles.exists():
        done += len(_index_titles(titles))
    return done + judge_some()


def is_any_unindexed() -> bool:
    """Whether messages are left to index."""
    return _messages().filter(indexed_at=None).exists()


def reindex() -> Iterator[tuple[int, int]]:
    """Index everything again, a portion at a time, each in its own transaction.

    Yields (number done, total). Meanwhile the old entries are still found.
    """
    total = _messages().count() + _titles().count()
    done = 0
    for count in chain(
        _in_batches(_messages(), _index_messages),
        _in_batches(_titles(), _index_titles),
    ):
        done += count
        yield done, max(done, total)


def _in_batches(
    rows: "models.QuerySet[M]", index: "Callable[[models.QuerySet[M]], list[UUID]]"
) -> Iterator[int]:
    rows = rows.order_by("pk")
    some = rows
    while done := index(some):
        yield len(done)
        some = rows.filter(pk__gt=done[-1])


def _messages() -> "models.QuerySet[Message]":
    whole = Message.objects.exclude(ending=Message.STREAMING)
    return whole.filter(conversation__is_temporary=False).order_by()


def _titles() -> "models.QuerySet[Conversation]":
    return Conversation.objects.filter(is_temporary=False).order_by()


def _index_messages(messages: "models.QuerySet[Message]") -> list[UUID]:
    """Index the first few of these, and return the keys of all that it read.

    Their words are made before the transaction, so that writers don't wait for very long texts.
    Messages whose text changed meanwhile are left to the next call.
    """
    messages = messages.select_related("conversation").only(*LOADED_FIELDS)
    with _one_process_at_a_time():
        some = {message.pk: message for message in _as_many_as_fit(messages[:MESSAGES_AT_ONCE])}
        files = load_file_keys(_filter_with_files(some.values()))
        texts = file_texts(_filter_with_files(some.values()))
        summaries = load_summaries(some)
        drafts = {
            pk: list(_build_message_drafts(message, texts.get(pk, ()), summaries.get(pk, "")))
            for pk, message in some.items()
        }
        with transaction.atomic():
            # Not ordered, so that the database finds them by their keys.
            locked = messages.filter(pk__in=list(some)).order_by().select_for_update(of=("self",))
            unchanged = [
                message
                for message in locked
                if _get_indexed_values(message) == _get_indexed_values(some[message.pk])
            ]
            current_summaries = load_summaries(some)
            unchanged = [
                message
                for message in unchanged
                if current_summaries.get(message.pk) == summaries.get(message.pk)
            ]
            if files != load_file_keys(_filter_with_files(some.values())):
                unchanged = []  # one has expired: its text must not get into the index again
            keys = [message.pk for message in unchanged]
            SearchEntry.objects.filter(message__in=keys).delete()
            full_text.store(_assign_ids([draft for pk in keys for draft in drafts[pk]]))
            Message.objects.filter(pk__in=keys).update(indexed_at=timezone.now())
            await_judging(unchanged)
    return list(some)


@contextmanager
def _one_process_at_a_time() -> Iterator[None]:
    """Run one at a time among processes that share a PostgreSQL, or they would index the same
    messages. On SQLite that lock would block writers for too long."""
    if connection.vendor == "sqlite":
        yield
    else:
        with transaction.atomic(), one_at_a_time("indexing"):
            yield


def _filter_with_files(messages: Iterable[Message]) -> list[UUID]:
    return [message.pk for message in messages if message.file_count]


def _get_indexed_values(message: Message) -> list[object]:
    return [getattr(message, name) for name in INDEXED_FIELDS]


def _as_many_as_fit(messages: Iterable[Message]) -> Iterator[Message]:
    characters = 0
    for message in messages:
        if characters > CHARACTERS_AT_ONCE:
            return
        characters += len(message.content) + len(message.reasoning)
        characters += MAX_CHARACTERS if message.file_count else 0
        yield message


def _index_titles(some: "models.QuerySet[Conversation]") -> list[UUID]:
    rows = some.only("user", "title", "created_at", "cut_changes")
    with transaction.atomic(), one_at_a_time("indexing"):
        conversations = list(rows.select_for_update()[:TITLES_AT_ONCE])
        keys = [conversation.pk for conversation in conversations]
        SearchEntry.objects.filter(conversation__in=keys, message=None).delete()
        summaries = load_opening_summaries(
            conversation.pk for conversation in conversations if conversation.cut_changes
        )
        drafts = (
            _build_title_drafts(conversation, summaries.get(conversation.pk, ""))
            for conversation in conversations
        )
        full_text.store(_assign_ids(list(chain.from_iterable(drafts))))
        Conversation.objects.filter(pk__in=keys).update(indexed_title=F("title"))
    return keys


def _build_message_drafts(
    message: Message, files: Sequence[FileText], summary: str = ""
) -> Iterator[_Draft]:
    text = "\n\n".join([*get_texts(message), *([summary] if summary else [])])
    if not (text or files):
        return
    marks = [mark(PROMPT if message.is_prompt else REPLY), *name_marks(MODEL, message.model)]
    if FENCE.search(text):
        marks.append(mark(CODE))
    user = message.conversation.user_id
    of_files = chain.from_iterable((file.name, *slices(file.text)) for file in files)
    for words in entries(text, *of_files):
        yield _Draft(
            message.created_at, user, message.conversation_id, message.pk, [*marks, *words]
        )


def _build_title_drafts(conversation: Conversation, summary: str = "") -> Iterator[_Draft]:
    """Yield the entry of a title, and those of the summary with which the chat begins."""
    title = [mark(TITLE), *next(entries(conversation.title))]
    for words in (title, *(entries(summary) if summary else ())):
        yield _Draft(conversation.created_at, conversation.user_id, conversation.pk, None, words)


def _assign_ids(drafts: list[_Draft]) -> list[Row]:
    """Assign unused ids. Within a second, the search for one begins at a place that depends on the
    message."""
    preferred_ids = [
        first_id(draft.at) + (draft.message or draft.conversation).int % IDS_PER_SECOND
        for draft in drafts
    ]
    used = _find_used_ids(pk__in=preferred_ids)
    complete_seconds: set[int] = set()  # seconds for which `used` is complete
    rows: list[Row] = []
    for draft, number in zip(drafts, preferred_ids, strict=True):
        while number in used:
            number += 1
            if (second := number // IDS_PER_SECOND) not in complete_seconds:
                begin = second * IDS_PER_SECOND
                used |= _find_used_ids(pk__range=(begin, begin + IDS_PER_SECOND - 1))
                complete_seconds.add(second)
        used.add(number)
        rows.append(Row(number, *draft[1:]))
    return rows


def _find_used_ids(**conditions: object) -> set[int]:
    return set(SearchEntry.objects.filter(**conditions).values_list("pk", flat=True))
