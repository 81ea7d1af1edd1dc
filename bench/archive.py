"""Stores very many messages of many people in a database at once, indexed as the app does.

`python -m bench.archive PERSON OWN OTHERS` gives one person OWN messages, and OTHERS to a hundred
other people, interleaved. There are a few thousand different texts, whose words are as frequent as
those of a natural language.
"""

import random
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cache
from itertools import islice
from typing import Any, NamedTuple
from uuid import UUID

import django

VOCABULARY, KINDS = 30_000, 4000
WORDS = (20, 100)  # per message
A_CONVERSATION = 20  # messages per conversation
PEOPLE = 100  # other people
AT_ONCE = 20_000  # messages per transaction
BETWEEN = timedelta(seconds=20)  # time between messages


class Made(NamedTuple):
    """A message to be stored, and its author."""

    number: int
    user: int
    conversation: UUID
    kind: int


def word(rank: int) -> str:
    """Return the word of this rank, built of syllables: the most frequent words are short."""
    consonants, vowels = "bdfgklmnprstvz", "aeiou"
    syllables = ""
    while rank or not syllables:
        rank, syllable = divmod(rank, len(consonants) * len(vowels))
        syllables += consonants[syllable % len(consonants)] + vowels[syllable // len(consonants)]
    return syllables


def texts() -> list[str]:
    seeded = random.Random(13)
    vocabulary = [word(rank) for rank in range(VOCABULARY)]
    frequencies = [1 / (rank + 2) for rank in range(VOCABULARY)]
    return [
        " ".join(seeded.choices(vocabulary, frequencies, k=seeded.randint(*WORDS)))
        for _ in range(KINDS)
    ]


def made(person: int, others: list[int], own: int, total: int) -> Iterator[Made]:
    seeded = random.Random(31)
    counts: dict[int, int] = {}
    for number in range(total):
        user = person if seeded.random() < own / total else seeded.choice(others)
        counts[user] = count = counts.get(user, -1) + 1
        conversation = UUID(int=(user << 64) + count // A_CONVERSATION)
        yield Made(number, user, conversation, seeded.randrange(KINDS))


def fill(username: str, own: int, others: int) -> None:
    from django.db import connection, transaction
    from django.utils import timezone

    from chatapp.models import User

    person = User.objects.get(username=username)
    User.objects.bulk_create(User(username=f"other{number}") for number in range(PEOPLE))
    keys = list(User.objects.exclude(pk=person.pk).values_list("pk", flat=True))
    kinds, began_at = texts(), timezone.now() - BETWEEN * (own + others)
    rows = made(person.pk, keys, own, own + others)
    known: set[UUID] = set()
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("DROP INDEX chatapp_searchentry_words")
    while some := list(islice(rows, AT_ONCE)):
        with transaction.atomic():
            _put(some, kinds, began_at, known)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            from chatapp.models.search import full_text

            cursor.execute("SET maintenance_work_mem = '512MB'")
            full_text.make_index(connection)
            cursor.execute("VACUUM ANALYZE")


def _put(some: list[Made], kinds: list[str], began_at: datetime, known: set[UUID]) -> None:
    from chatapp.models import Conversation, Message
    from chatapp.models.search import full_text
    from chatapp.models.search.full_text import Row
    from chatapp.models.search.search_entries import PROMPT, REPLY, TITLE, first_id
    from chatapp.text.indexing import mark

    conversations: dict[UUID, Any] = {}
    messages, entries = [], []
    for one in some:
        at = began_at + BETWEEN * one.number
        if one.conversation not in known:
            known.add(one.conversation)
            title = Conversation.title_of(kinds[one.kind])
            conversations[one.conversation] = Conversation(
                id=one.conversation,
                user_id=one.user,
                title=title,
                indexed_title=title,
                updated_at=at,
            )
            named = [mark(TITLE), *_words_of(title)]
            entries.append(Row(first_id(at) + 1, one.user, one.conversation, None, named))
        role = Message.Role.USER if one.number % 2 else Message.Role.ASSISTANT
        pk = UUID(int=(1 << 100) + one.number)
        messages.append(
            Message(
                id=pk,
                conversation_id=one.conversation,
                role=role,
                content=kinds[one.kind],
                ending="" if one.number % 2 else "complete",
                created_at=at,
                indexed_at=at,
                sequence=one.number,
            )
        )
        whose = mark(PROMPT if one.number % 2 else REPLY)
        found = [whose, *_words_of(kinds[one.kind])]
        entries.append(Row(first_id(at), one.user, one.conversation, pk, found))
    Conversation.objects.bulk_create(conversations.values())
    Message.objects.bulk_create(messages, 500)
    full_text.store(entries)


@cache
def _words_of(text: str) -> list[str]:
    from chatapp.text.indexing import entries

    return next(entries(text))


if __name__ == "__main__":
    django.setup()
    fill(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
