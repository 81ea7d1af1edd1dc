"""A person is erased: the account, all that they wrote and were answered, and every trace of it.

They are switched off first, in a transaction of its own, so that what runs for them ends and their
tabs close while the rest goes. That is deleted bit by bit, so that nobody waits long for the
database; where it fails midway, the account is there still, switched off, and can be erased again.
A legal hold keeps all of it, and one that is set midway what is there by then.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Self

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import transaction

from chatapp.accounts import erasures
from chatapp.accounts.erasure_report import Report
from chatapp.models import (
    Conversation,
    Invitation,
    Message,
    ReplyImage,
    User,
    audit,
)
from chatapp.models.legal_holds import refuse_held
from chatapp.models.review_finds import forget_name
from chatapp.realtime.journal import complete_lost_replies
from chatapp.realtime.worker import has_to_delete


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


def erase(people: list[User], by: User | None = None) -> list[Report]:
    """Raises `LastAdministrator` or `Held`, and then nobody is touched: unless a hold was set
    meanwhile, which keeps what was not deleted yet.

    `by` is who does it; None: whoever has the terminal.
    """
    _switch_off(people)
    return _erase(people, by)


def erase_again(people: list[User]) -> list[Report]:
    """Those who were erased, and are back in a database that is older than that. Neither what was
    held in it nor who administered keeps them: their erasure was decided after it."""
    for person in people:
        person.is_active = False
        person.save(update_fields=["is_active"])
        person.legal_holds.all().delete()
    return _erase(people, None, is_known=True)


def _erase(people: list[User], by: User | None, *, is_known: bool = False) -> list[Report]:
    """`is_known`: that they are erased stands in `erasures` already."""
    complete_lost_replies()  # so that no journal of a process that died has a word of theirs
    reports = []
    for person in people:
        report = Report(person.pk, sessions=person.devices.all().sign_out())
        for conversation in person.conversations.all():
            report.conversations.add(conversation.pk)
            report.rows += conversation.erase()
        _forget(person, by, report, is_known)
        reports.append(report)
    has_to_delete()
    return reports


@transaction.atomic
def _switch_off(people: list[User]) -> None:
    if User.leaves_no_administrator([person.pk for person in people]):
        raise LastAdministrator
    for person in sorted(people, key=lambda one: one.pk):
        refuse_held(person.pk)
    for person in people:
        person.is_active = False
        person.save(update_fields=["is_active"])


@transaction.atomic
def _forget(person: User, by: User | None, report: Report, is_known: bool) -> None:
    """What began before they were switched off and was stored since goes along with the account."""
    # In the order of who saves a reply: itself, whose it is, what it cost, and the allowances.
    theirs = Message.objects.filter(conversation__user=person).select_for_update(of=("self",))
    list(theirs.values_list("pk"))
    stored = User.objects.select_for_update().filter(pk=person.pk).first() or person
    refuse_held(person.pk)
    report.sessions += person.devices.all().sign_out()
    entries = LogEntry.objects.filter(
        content_type=ContentType.objects.get_for_model(User), object_id=str(person.pk)
    )
    entries.update(object_repr=f"Person {person.pk}, erased")
    pk = person.pk
    forget_name(stored.username)  # who was renamed meanwhile, by the new one
    for invitation in Invitation.objects.open().filter(made_by=person):
        invitation.revoke()
    Invitation.objects.forget_address(stored.email)
    person.usage.update(user=None)
    report.conversations |= set(person.conversations.values_list("pk", flat=True))
    if not is_known:
        erasures.write(person)
    report.rows += Counter(person.delete()[1])
    report.look()
    audit.forget(pk, by, report.detail, name=stored.username)
