"""Stores the chats of several people for an administrator, each as a part of that person's own."""

import time
from collections.abc import Iterator
from typing import NoReturn

from django.db import transaction

from chatapp.imports.figures import Result
from chatapp.imports.storing import Storer
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


class PersonErased(Exception):
    """Raised when a person was erased meanwhile."""


class TeamStorer:
    """Stores the chats of the people that an administrator has chosen."""

    def __init__(self, job: Import) -> None:
        self.job = job
        self.result = Result.from_record(job.result)
        parts = job.parts.filter(ended_at=None).select_related("user")
        self._storers = {part.source_person: PartStorer(part, job) for part in parts}

    def skip(self, reason: str, title: str) -> None:
        """Count a chat of nobody knows whom. Its title is not shown to the administrator."""
        self.result.skipped += 1
        self.result.reasons.add(reason)

    def steps(self, chat: SourceChat) -> Iterator[None]:
        storer = self._storers.get(chat.owner)
        if storer is None:
            return
        try:
            yield from storer.steps(chat)
        except PersonErased:
            del self._storers[chat.owner]
            self.result.reasons.add(ERASED)

    def finish(self) -> Iterator[None]:
        for storer in self._storers.values():
            with transaction.atomic():
                self.job.lock()
                self.job.end_part(storer.job)
            time.sleep(PAUSE)
            yield


class PartStorer(Storer):
    """Stores the chats of one person, as long as they and the administrator are active."""

    def steps(self, chat: SourceChat) -> Iterator[None]:
        before = self.runner.done
        if self.job.problem:
            self.skip(self.job.problem, chat.title)
        else:
            try:
                yield from super().steps(chat)
            except PartStopped as stopped:
                self.job.problem = str(stopped)
                self.skip(self.job.problem, chat.title)
        if self.runner.done == before:  # it was not stored, so its figures are not saved yet
            self.runner.done += 1
            with transaction.atomic():
                self.save()

    def save(self) -> None:
        self.job.result = self.result.as_record()
        part = Import.objects.filter(pk=self.job.pk)
        part.update(result=self.job.result, problem=self.job.problem)
        self.runner.advance()

    def check(self) -> None:
        parts = Import.objects.select_for_update(of=("self",)).filter(pk=self.job.pk)
        part = parts.first()
        if part is None:
            raise PersonErased
        if part.phase != Phase.STORED:
            raise PartStopped(UNDONE)
        self.runner.check_administrator()
        if not User.objects.filter(pk=part.user_id, is_active=True).exists():
            raise PartStopped(DEACTIVATED)

    def stop(self, refused: Refused) -> NoReturn:
        raise PartStopped(FULL) from refused
