"""Runs the job of an import: what it does depends on its phase."""

from collections.abc import Iterator

from chatapp.imports.importer import Importer
from chatapp.imports.preview import preview_export
from chatapp.imports.team import TeamImporter
from chatapp.models import Import
from chatapp.models.imports.imports import Phase
from chatapp.models.imports.undoing import undo
from chatapp.realtime.worker import list_changed
from chatapp.realtime.worker.jobs import register


def run_import(job: Import) -> Iterator[None]:
    match job.phase:
        case Phase.READING:
            job.done = 0
            yield from preview_export(job)
        case Phase.STORING:
            importer = TeamImporter(job) if job.is_for_team else Importer(job)
            yield from _redraw_lists(job, importer.run())
        case Phase.UNDOING:
            yield from _redraw_lists(job, undo(job))


def _redraw_lists(job: Import, steps: Iterator[None]) -> Iterator[None]:
    """Show the changed lists of chats in people's tabs at the end, however that comes."""
    try:
        yield from steps
    finally:
        for user in {job.user_id, *job.parts.values_list("user", flat=True)}:
            list_changed(user)


register(Import, run_import)
