"""Stores what a person accumulates over years, directly in a database that no server uses yet.

`python -m bench.stock CONVERSATIONS LENGTH…`, in the app's environment, gives the only person there
that many conversations, a few per day, and the most recent ones with these numbers of messages.
Prints the paths of the latter as JSON.
"""

import itertools
import json
import os
import sys
from collections.abc import Iterator
from datetime import timedelta

import django
from django.db import transaction
from django.utils import timezone

from bench.answers import Order

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatapp.settings")
django.setup()

from chatapp.models import Conversation, Message, Usage, User  # noqa: E402
from chatapp.upstream.wire.reply import Ending  # noqa: E402

AT_ONCE = 500  # rows per statement
APART = timedelta(hours=5)
ANSWERS = [40, 120, 300]  # five-byte tokens


@transaction.atomic
def main() -> None:
    conversations, *lengths = (int(argument) for argument in sys.argv[1:])
    user = User.objects.get()
    addresses = [_store_long_conversation(user, length, age) for age, length in enumerate(lengths)]
    others = (
        _conversation(user, f"Number {number} of what was asked", number + len(lengths))
        for number in range(conversations)
    )
    Conversation.objects.bulk_create(others, batch_size=AT_ONCE)
    print(json.dumps(addresses))


def _conversation(user: User, title: str, age: int) -> Conversation:
    return Conversation(user=user, title=title, updated_at=timezone.now() - age * APART)


def _store_long_conversation(user: User, length: int, age: int) -> str:
    """Store a conversation of this many messages; return its path."""
    conversation = _conversation(user, f"One of {length} messages", age)
    conversation.save(force_insert=True)
    messages = list(_turns(conversation, length // 2))
    Message.objects.bulk_create(messages, batch_size=AT_ONCE)
    Usage.objects.bulk_create(map(_usage, messages[1::2]), batch_size=AT_ONCE)
    return conversation.get_absolute_url()


def _turns(conversation: Conversation, count: int) -> Iterator[Message]:
    """Generate prompts and their replies in turn."""
    answers = ["".join(Order(0, tokens, answer="mixed").texts()) for tokens in ANSWERS]
    reply = None
    for number, answer in zip(range(count), itertools.cycle(answers)):
        prompt = Message(
            conversation=conversation,
            parent=reply,
            role=Message.Role.USER,
            content=f"What is there to say of number {number}?",
            sequence=2 * number + 1,
            indexed_at=timezone.now(),
        )
        reply = Message(
            conversation=conversation,
            parent=prompt,
            role=Message.Role.ASSISTANT,
            content=answer,
            ending=Ending.COMPLETE,
            model="scripted",
            duration=4.0,
            sequence=2 * number + 2,
            indexed_at=timezone.now(),
        )
        yield from (prompt, reply)


def _usage(reply: Message) -> Usage:
    return Usage(
        message=reply,
        provenance=Usage.Provenance.REPORTED,
        prompt_tokens=900,
        completion_tokens=200,
        total_tokens=1100,
    )


if __name__ == "__main__":
    main()
