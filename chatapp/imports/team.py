"""Stores the chats of several people for an administrator, each as a part of that person's own."""

import time
from collections.abc import Iterator
from typing import NoReturn

from django.db import transaction

from chatapp.imports.importer import Importer
from chatapp.models import Import, User
from chatapp.models.imports.imports import Phase
from chatapp.models.refusals import Refused
from chatapp.transfer import SourceChat

PAUSE = 0.01  # seconds between transactions with nothing to read, for SQLite's other writers
FULL = "The storage of this account is full, so not all chats were imported."
DEACTIVATED = "This account was deactivated, so not all chats were imported."
UNDONE = "This person undid the import, so no more chats were imported."
ERASED = "An account was erased meanwhile, so its chats were not imported."


class PartStopped(Exception):
    """Raised when a person can get no more chats. The message is a sentence."""


class TeamImporter(Importer):
    """Stores the chats of the people that an administrator has chosen."""

    def __init__(self, job: Import) -> None:
        super().__init__(job)
        parts = job.parts.filter(ended_at=None).select_related("user")
        self._importers = {part.source_person: PartImporter(part, job) for part in parts}

    def skip_chat(self, reason: str, title: str) -> None:
        """Count a chat of nobody knows whom. Its title is not shown to the administrator."""
        self.report.add_skipped(reason)

    def import_chat(self, chat: SourceChat) -> Iterator[None]:
        if importer := self._importers.get(chat.owner):
            yield from importer.import_chat(chat)
            if importer.job.problem == ERASED:
                del self._importers[chat.owner]
                self.report.add_reason(ERASED)

    def finish(self) -> Iterator[None]:
        for importer in self._importers.values():
            with transaction.atomic():
                self.job.lock()
                self.job.end_part(importer.job)
            time.sleep(PAUSE)
            yield


class PartImporter(Importer):
    """Stores the chats of one person, as long as they and the administrator are active."""

    def import_chat(self, chat: SourceChat) -> Iterator[None]:
        before = self.runner.done
        if not self.job.problem:
            try:
                yield from super().import_chat(chat)
            except PartStopped as stopped:
                self.job.problem = str(stopped)
        if self.job.problem:
            self.skip_chat(self.job.problem, chat.title)
        if self.runner.done == before:  # it was not stored, so its figures are not saved yet
            self.runner.done += 1
            with transaction.atomic():
                self.save_progress()

    def save_progress(self) -> None:
        self.job.result = self.report.as_record()
        part = Import.objects.filter(pk=self.job.pk)
        part.update(result=self.job.result, problem=self.job.problem)
        self.runner.advance()

    def check_may_store(self) -> None:
        parts = Import.objects.select_for_update(of=("self",)).filter(pk=self.job.pk)
        part = parts.first()
        if part is None:
            raise PartStopped(ERASED)
        if part.phase != Phase.STORED:
            raise PartStopped(UNDONE)
        self.runner.check_administrator()
        if not User.objects.filter(pk=part.user_id, is_active=True).exists():
            raise PartStopped(DEACTIVATED)

    def end_when_full(self, refused: Refused) -> NoReturn:
        raise PartStopped(FULL) from refused
