"""Takes an import back: deletes the chats that it created and the messages that it added.

A chat in which the person went on, or that a later import made longer, is kept, and so is what a
legal hold protects. Everything is deleted in short transactions, newest messages first.
"""

from collections import Counter
from collections.abc import Iterator
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef

from chatapp.db.locks import one_at_a_time
from chatapp.models.conversations.chats.conversation import Conversation
from chatapp.models.conversations.chats.erasable import ERASED_AT_ONCE
from chatapp.models.conversations.chats.folders import PURGE_LOCK
from chatapp.models.conversations.chats.projects import Project
from chatapp.models.conversations.messages.messages import Message
from chatapp.models.imports.imports import Import, ImportedChat, ImportedMessages, Phase
from chatapp.models.policies.legal_holds import UnderLegalHold, refuse_held

DELETED, CONTINUED, HELD, SHORTENED = "deleted", "continued", "held", "shortened"


def undo(job: Import) -> Iterator[None]:
    """Undo the import step by step; `job.result["undone"]` counts what became of its chats."""
    undone: Counter[str] = Counter()
    job.total = job.all_chats.count()
    for part in job.parts.exclude(phase=Phase.UNDONE).select_related("user"):
        yield from _undo_part(part, job)
    yield from _undo_all(job, undone, job)
    for result in job.parts.values_list("result", flat=True):
        undone.update(result.get("undone", {}))
    job.result["undone"] = dict(undone)
    job.advance(result=job.result)


def _undo_part(part: Import, runner: Import) -> Iterator[None]:
    """Undo what one person got from an import for a team."""
    if part.is_unended:  # that person undoes it
        return
    runner.check_administrator()
    undone: Counter[str] = Counter()
    yield from _undo_all(part, undone, runner)
    with transaction.atomic():
        runner.lock()
        result = part.result | {"undone": dict(undone)}
        left = Import.objects.filter(pk=part.pk).update(phase=Phase.UNDONE, result=result)
        if left and undone:
            runner.record("import.taken_back", dict(undone), about=part.user)


def _undo_all(job: Import, undone: Counter[str], runner: Import) -> Iterator[None]:
    """Delete what an import has stored; `runner` is the job that does it."""
    for pk in list(job.chats.values_list("pk", flat=True)):
        while (outcome := _undo_chat(job, pk, runner)) is None:
            yield
        undone[outcome] += 1
        runner.done += 1
        yield
    for added in list(job.messages.exclude(chat__imported_by=job).values_list("pk", flat=True)):
        while (outcome := _undo_messages(job, added, runner)) is None:
            yield
        undone[outcome] += 1
        yield
    _delete_empty_projects(job, runner)


def _undo_chat(job: Import, pk: UUID, runner: Import) -> str | None:
    """Delete one batch of a chat; return what became of it, or None if there may be more."""
    try:
        with transaction.atomic(), one_at_a_time(PURGE_LOCK):
            runner.lock()
            chat = ImportedChat.objects.filter(pk=pk).first()
            if chat is None:
                return DELETED
            refuse_held(job.user_id, pk)
            conversations = Conversation.objects.filter(pk=pk, user=job.user_id)
            conversation = conversations.select_for_update(no_key=True).first()
            if conversation and _has_more(conversation, chat):
                return CONTINUED
            if conversation and conversation.erase_newest():
                return None
            if conversation:
                conversation.delete()
            chat.delete()
            return DELETED
    except UnderLegalHold:
        return HELD


def _has_more(conversation: Conversation, chat: ImportedChat) -> bool:
    """Whether it has messages that were not imported, or that another import added."""
    if chat.messages.exclude(imported_by=chat.imported_by_id).exists():
        return True
    of_import = ImportedMessages.build_condition(chat.messages.all())
    return conversation.messages.exclude(of_import).exists()


def _undo_messages(job: Import, pk: int, runner: Import) -> str | None:
    """Delete one batch of messages that were added to a chat that had been there."""
    try:
        with transaction.atomic(), one_at_a_time(PURGE_LOCK):
            runner.lock()
            added = ImportedMessages.objects.filter(pk=pk)
            row = added.select_related("chat").first()
            if row is None:
                return DELETED
            refuse_held(job.user_id, row.chat_id)
            conversations = Conversation.objects.filter(pk=row.chat_id, user=job.user_id)
            conversation = conversations.select_for_update(no_key=True).first()
            theirs = Message.objects.filter(conversation=row.chat_id)
            messages = theirs.filter(ImportedMessages.build_condition(added))
            answered = theirs.filter(parent=OuterRef("pk"))
            ends = messages.exclude(Exists(answered)).values_list("pk", flat=True)
            if conversation and (batch := list(ends[:ERASED_AT_ONCE])):
                Message.objects.erase(batch)
                if conversation.active_leaf in batch:
                    conversations.update(active_leaf=None)
                return None
            is_kept = messages.exists()  # something that is kept follows them
            added.delete()
            return CONTINUED if is_kept else SHORTENED
    except UnderLegalHold:
        return HELD


def _delete_empty_projects(job: Import, runner: Import) -> None:
    project_ids = job.result.get("projects", [])
    empty = Project.objects.filter(pk__in=project_ids, user=job.user_id, conversations=None)
    with transaction.atomic():
        runner.lock()
        empty.delete()
