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
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

import django

if TYPE_CHECKING:
    from chatapp.models import Message

VOCABULARY, KINDS = 30_000, 4000
WORDS = (20, 100)  # per message
A_CONVERSATION = 20  # messages per conversation
PEOPLE = 100  # other people
AT_ONCE = 20_000  # messages per transaction
BETWEEN = timedelta(seconds=20)  # time between messages


class GeneratedMessage(NamedTuple):
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


def generate_messages(
    person: int, others: list[int], own: int, total: int
) -> Iterator[GeneratedMessage]:
    seeded = random.Random(31)
    counts: dict[int, int] = {}
    for number in range(total):
        user = person if seeded.random() < own / total else seeded.choice(others)
        counts[user] = count = counts.get(user, -1) + 1
        conversation = UUID(int=(user << 64) + count // A_CONVERSATION)
        yield GeneratedMessage(number, user, conversation, seeded.randrange(KINDS))


def fill(username: str, own: int, others: int) -> None:
    from django.db import connection, transaction
    from django.utils import timezone

    from chatapp.models import User

    person = User.objects.get(username=username)
    User.objects.bulk_create(User(username=f"other{number}") for number in range(PEOPLE))
    keys = list(User.objects.exclude(pk=person.pk).values_list("pk", flat=True))
    kinds, began_at = texts(), timezone.now() - BETWEEN * (own + others)
    rows = generate_messages(person.pk, keys, own, own + others)
    stored_ids: set[UUID] = set()
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("DROP INDEX chatapp_searchentry_words")
    while batch := list(islice(rows, AT_ONCE)):
        with transaction.atomic():
            _store_messages(batch, kinds, began_at, stored_ids)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            from chatapp.models.search import full_text

            cursor.execute("SET maintenance_work_mem = '512MB'")
            full_text.make_index(connection)
            cursor.execute("VACUUM ANALYZE")


def _store_messages(
    batch: list[GeneratedMessage], kinds: list[str], began_at: datetime, stored_ids: set[UUID]
) -> None:
    from chatapp.models import Conversation, Message
    from chatapp.models.search import full_text
    from chatapp.models.search.full_text import Row
    from chatapp.models.search.search_entries import PROMPT, REPLY, TITLE, first_id
    from chatapp.text.indexing import mark

    conversations: dict[UUID, Any] = {}
    messages, entries = [], []
    for message in batch:
        at = began_at + BETWEEN * message.number
        if message.conversation not in stored_ids:
            stored_ids.add(message.conversation)
            title = Conversation.build_title(kinds[message.kind])
            conversations[message.conversation] = Conversation(
                id=message.conversation,
                user_id=message.user,
                title=title,
                indexed_title=title,
                updated_at=at,
            )
            title_words = [mark(TITLE), *_split_words(title)]
            entries.append(
                Row(first_id(at) + 1, message.user, message.conversation, None, title_words)
            )
        stored_message = _build_message(message, kinds[message.kind], at)
        messages.append(stored_message)
        whose = mark(PROMPT if stored_message.is_prompt else REPLY)
        text_words = [whose, *_split_words(stored_message.content)]
        entries.append(
            Row(first_id(at), message.user, message.conversation, stored_message.pk, text_words)
        )
    Conversation.objects.bulk_create(conversations.values())
    Message.objects.bulk_create(messages, 500)
    full_text.store(entries)


def _build_message(message: GeneratedMessage, content: str, at: datetime) -> "Message":
    from chatapp.models import Message

    is_prompt = bool(message.number % 2)
    return Message(
        id=UUID(int=(1 << 100) + message.number),
        conversation_id=message.conversation,
        role=Message.Role.USER if is_prompt else Message.Role.ASSISTANT,
        content=content,
        ending="" if is_prompt else "complete",
        created_at=at,
        indexed_at=at,
        sequence=message.number,
    )


@cache
def _split_words(text: str) -> list[str]:
    from chatapp.text.indexing import entries

    return next(entries(text))


if __name__ == "__main__":
    django.setup()
    fill(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
