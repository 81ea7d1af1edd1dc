"""A person is erased: the account, all that they wrote and were answered, and every trace of it.

They are switched off first, in a transaction of its own, so that what runs for them ends and their
tabs close while the rest goes. That is deleted bit by bit, so that nobody waits long for the
database; where it fails midway, the account is there still, switched off, and can be erased again.
"""

from dataclasses import dataclass
from typing import Self

from django.contrib.admin.models import LogEntry
from django.contrib.auth import SESSION_KEY
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.db import connection, transaction

from chatapp.models import Conversation, Message, ReplyImage, User
from chatapp.models.connections import impatient

SESSIONS_AT_ONCE = 500


class LastAdministrator(Exception):
    """Nobody could administer the server any more."""


@dataclass(frozen=True)
class Belongings:
    """How much of a few people's there is."""

    conversations: int
    messages: int
    images: int

    @classmethod
    def of(cls, people: list[int]) -> Self:
        return cls(
            Conversation.objects.filter(user__in=people).count(),
            Message.objects.filter(conversation__user__in=people).count(),
            ReplyImage.objects.filter(message__conversation__user__in=people).count(),
        )


def erase(people: list[User]) -> None:
    """Raises `LastAdministrator`, and then nobody is touched."""
    _switch_off(people)
    _end_sessions({str(person.pk) for person in people})
    for person in people:
        for conversation in person.conversations.all():
            conversation.erase()
        _forget(person)
    _clear_write_ahead_log()


@transaction.atomic
def _switch_off(people: list[User]) -> None:
    if User.leaves_no_administrator([person.pk for person in people]):
        raise LastAdministrator
    for person in people:
        person.is_active = False
        person.save(update_fields=["is_active"])


def _end_sessions(people: set[str]) -> None:
    """Each has the name by which the person signed in; nothing but the data says whose it is."""
    theirs = [
        session.pk
        for session in Session.objects.iterator()
        if str(session.get_decoded().get(SESSION_KEY)) in people
    ]
    for start in range(0, len(theirs), SESSIONS_AT_ONCE):
        Session.objects.filter(pk__in=theirs[start : start + SESSIONS_AT_ONCE]).delete()


@transaction.atomic
def _forget(person: User) -> None:
    """What began before they were switched off and was stored since goes along with the account."""
    User.objects.select_for_update().filter(pk=person.pk).first()
    entries = LogEntry.objects.filter(
        content_type=ContentType.objects.get_for_model(User), object_id=str(person.pk)
    )
    entries.update(object_repr=f"Person {person.pk}, erased")
    person.delete()


def _clear_write_ahead_log() -> None:
    """SQLite's, which has old pages of the database for as long as nobody writes over them."""
    if connection.vendor == "sqlite":
        with impatient(connection), connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
