"""What processes that died, or people who stopped an upload, have left behind."""

import re
from contextlib import suppress

from django.utils import timezone

from chatapp.models.files import storage
from chatapp.models.files.attachments import ABANDONED, Attachment
from chatapp.models.files.stored_files import StoredFile

PART_NAME = re.compile(rf"{storage.UPLOADS}/([0-9a-f-]{{36}})-\d+", re.ASCII)
LOOKED_UP_AT_ONCE = 500  # keys per query


def delete_abandoned() -> None:
    """Delete what no row refers to: uploaded parts, old files in the storage."""
    delete_lost_parts()
    since = timezone.now() - ABANDONED
    for folder in storage.folders():
        has_others = folder in (storage.UPLOADS, storage.EXPORTS)
        names = [] if has_others else storage.names_in(folder)
        known = set(StoredFile.objects.filter(name__in=names).values_list("name", flat=True))
        for name in set(names) - known:
            if storage.written_at(name) < since:
                storage.delete(name)


def delete_lost_parts() -> None:
    """Delete the uploaded parts of attachments that are gone, or have been read.

    An attachment is stored before its parts.
    """
    names: dict[str, list[str]] = {}
    with suppress(FileNotFoundError):  # nothing was ever uploaded
        for name in storage.names_in(storage.UPLOADS):
            if found := PART_NAME.fullmatch(name):
                names.setdefault(found[1], []).append(name)
    unread = Attachment.objects.exclude(state=Attachment.State.READY)
    ids = list(names)
    for start in range(0, len(ids), LOOKED_UP_AT_ONCE):
        some = ids[start : start + LOOKED_UP_AT_ONCE]
        wanted = {str(pk) for pk in unread.filter(pk__in=some).values_list("pk", flat=True)}
        for lost in set(some) - wanted:
            for name in names[lost]:
                storage.delete(name)
