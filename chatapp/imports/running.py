"""Runs the job of an import: what it does depends on its phase."""

from collections.abc import Iterator

from chatapp.imports.previewing import preview
from chatapp.imports.storing import store
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
            yield from _with_lists(job, store(job))
        case Phase.UNDOING:
            yield from _with_lists(job, undo(job))


def _with_lists(job: Import, steps: Iterator[None]) -> Iterator[None]:
    """Show the changed list of chats in the person's tabs at the end, however that comes."""
    try:
        yield from steps
    finally:
        list_changed(job.user_id)


register(Import, steps)
