"""Runs the job of an import: what it does depends on its phase."""

from collections.abc import Iterator

from chatapp.imports.previewing import preview
from chatapp.imports.storing import Storer, store
from chatapp.imports.team import TeamStorer
from chatapp.models import Import
from chatapp.models.imports.imports import Phase
from chatapp.models.imports.undoing import undo
from chatapp.realtime.worker import list_changed
from chatapp.realtime.worker.jobs import register


def steps(job: Import) -> Iterator[None]:
    match job.phase:
        case Phase.READING:
            job.done = 0
            yield from preview(job)
        case Phase.STORING:
            storer = TeamStorer(job) if job.is_for_team else Storer(job)
            yield from _with_lists(job, store(job, storer))
        case Phase.UNDOING:
            yield from _with_lists(job, undo(job))


def _with_lists(job: Import, steps: Iterator[None]) -> Iterator[None]:
    """Show the changed lists of chats in people's tabs at the end, however that comes."""
    try:
        yield from steps
    finally:
        for user in {job.user_id, *job.parts.values_list("user", flat=True)}:
            list_changed(user)


register(Import, steps)
