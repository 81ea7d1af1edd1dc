"""Erase people: their accounts, all their prompts and replies, and every trace of them.

Each person is deactivated first, in a separate transaction, so that their running replies end and
their tabs close. The rest is deleted in small steps, so that nobody waits long for the database. If
a step fails, the account still exists, deactivated, and can be erased again. A legal hold prevents
the erasure; one that is set midway keeps what has not been deleted yet.
"""

import logging
from collections import Counter
from dataclasses import dataclass
from typing import Self

from django.db import connection, transaction

from chatapp.erasure import register
from chatapp.erasure.handing_over import hand_over
from chatapp.erasure.report import Report
from chatapp.models import (
    Attachment,
    Conversation,
    FileSet,
    Import,
    Invitation,
    Message,
    PresetFile,
    ReplyImage,
    StoredFile,
    User,
    audit,
)
from chatapp.models.conversations.turns.exports import delete_lost_exports
from chatapp.models.files.abandoned import delete_lost_parts
from chatapp.models.policies.legal_holds import refuse_held
from chatapp.models.review.saved_views import forget_name
from chatapp.realtime.journal import complete_lost_replies
from chatapp.realtime.worker import schedule_purge

logger = logging.getLogger(__name__)

ADMIN_HISTORY = "django_admin_log"


class LastAdministrator(Exception):
    """Raised if no active administrator would be left."""


@dataclass(frozen=True)
class OwnedRows:
    """The numbers of conversations, messages, reply images and attached files of some people."""

    conversations: int
    messages: int
    images: int
    files: int

    @classmethod
    def of(cls, people: list[int]) -> Self:
        return cls(
            Conversation.objects.filter(user__in=people).count(),
            Message.objects.filter(conversation__user__in=people).count(),
            ReplyImage.objects.filter(message__conversation__user__in=people).count(),
            Attachment.objects.filter(user__in=people).count(),
        )


def erase(people: list[User], by: User | None = None) -> list[Report]:
    """Erase the people and return a report on each.

    Raises `LastAdministrator` or `UnderLegalHold` before anything is changed, or `UnderLegalHold`
    midway if a hold is set meanwhile: it keeps what has not been deleted yet. `by` is the person
    who erases them, or None for the server's terminal.
    """
    _switch_off(people)
    return _erase(people, by)


def erase_again(people: list[User]) -> list[Report]:
    """Erase people who are back because the database was restored from an older backup.

    Neither legal holds nor being the last administrator prevents it: the erasure was decided after
    the backup was made.
    """
    for person in people:
        person.is_active = False
        person.save(update_fields=["is_active"])
        person.legal_holds.all().delete()
    return _erase(people, None, is_known=True)


def _erase(people: list[User], by: User | None, *, is_known: bool = False) -> list[Report]:
    """Erase deactivated people; `is_known` if the erasures file has them already."""
    complete_lost_replies()  # so that no dead process's journal keeps their text
    reports = []
    for person in people:
        report = Report(person.pk, sessions=person.devices.all().sign_out())
        files = _load_file_keys(person)
        report.rows += Counter(person.imports.all().delete()[1])  # ends those that are running
        report.rows += Counter(person.import_files.all().delete()[1])
        report.rows += Counter(person.attachments.filter(message=None).delete()[1])
        for conversation in person.conversations.all():
            report.conversations.add(conversation.pk)
            report.rows += conversation.erase(with_files=False)
        _erase_files(files, report)
        _erase_files(_forget(person, by, report, is_known), report)
        reports.append(report)
    schedule_purge()
    return reports


@transaction.atomic
def _switch_off(people: list[User]) -> None:
    if User.leaves_no_administrator([person.pk for person in people]):
        raise LastAdministrator
    for person in sorted(people, key=lambda person: person.pk):
        refuse_held(person.pk)
    for person in people:
        person.is_active = False
        person.save(update_fields=["is_active"])


@transaction.atomic
def _forget(person: User, by: User | None, report: Report, is_known: bool) -> set[int]:
    """Delete the account, and what was stored since by requests from before the deactivation.

    Return the keys of the files among that.
    """
    # Lock in the order in which a reply is saved (message, user, usage, budget accounts), to avoid
    # deadlocks.
    theirs = Message.objects.filter(conversation__user=person).select_for_update(of=("self",))
    list(theirs.values_list("pk"))
    stored_user = User.objects.select_for_update().filter(pk=person.pk).first() or person
    refuse_held(person.pk)
    report.sessions += person.devices.all().sign_out()
    _empty_admin_history()
    pk = person.pk
    forget_name(stored_user.username)  # the current name, if it was changed meanwhile
    for invitation in Invitation.objects.open().filter(made_by=person):
        invitation.revoke()
    Invitation.objects.forget_address(stored_user.email)
    Import.objects.forget_person(stored_user)
    person.usage.update(user=None)
    report.conversations |= set(person.conversations.values_list("pk", flat=True))
    if not is_known:
        register.write(person)
    files = _load_file_keys(person)
    report.handed_over = hand_over(person, by)
    report.rows += Counter(person.delete()[1])
    while FileSet.objects.delete_unused():
        pass
    report.count_rows_left()
    audit.forget(pk, by, report.detail, name=stored_user.username)
    return files


def _empty_admin_history() -> None:
    """Empty the history of changes under /admin/, which names people and refers to them.

    Versions up to 0.5.0 had these pages. Their processes still write to the table while an upgrade
    runs, so no migration of this version drops it.
    """
    with connection.cursor() as cursor:
        if ADMIN_HISTORY in connection.introspection.table_names(cursor):
            cursor.execute(f"DELETE FROM {ADMIN_HISTORY}")  # noqa: S608 - a constant


def _load_file_keys(person: User) -> set[int]:
    """Return the keys of the files that the person attached, also to presets, and of images in
    their replies."""
    attached = person.attachments.order_by().values_list("file")
    of_presets = PresetFile.objects.owned_by(person).order_by().values_list("file")
    images = ReplyImage.objects.filter(message__conversation__user=person)
    theirs = attached.union(of_presets, images.values_list("file"))
    return {key for [key] in theirs if key is not None}


def _erase_files(files: set[int], report: Report) -> None:
    """Delete the content of those that nobody else has, now and not with the next housekeeping."""
    deleted, failed = StoredFile.objects.erase(files)
    try:
        delete_lost_parts()
        delete_lost_exports()
    except OSError as error:
        logger.error(
            "Uploaded parts and exports can't be deleted, and will be tried again: %s", error
        )
        failed += 1
    report.files += deleted
    report.files_left += failed
