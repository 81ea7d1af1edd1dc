"""The files that processes that died, or people who stopped an upload, have left behind."""

import re
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

from django.conf import settings
from django.utils import timezone

from chatapp.models.files import import_files, storage
from chatapp.models.files.attachments import ABANDONED, Attachment
from chatapp.models.files.stored_files import StoredFile

PART_NAME = re.compile(rf"(?:{storage.UPLOADS}|{storage.IMPORTS})/([0-9a-f-]{{36}})-\d+", re.ASCII)
COPY = re.compile(import_files.COPY_NAME.replace(".", r"\.").format("([0-9a-f-]{36})"), re.ASCII)
LOOKED_UP_AT_ONCE = 500  # keys per query


def delete_abandoned() -> None:
    """Delete what no row refers to: uploaded parts, old files in the storage."""
    delete_lost_parts()
    since = timezone.now() - ABANDONED
    for folder in storage.folders():
        has_others = folder in (storage.UPLOADS, storage.EXPORTS, storage.IMPORTS)
        names = [] if has_others else storage.names_in(folder)
        referenced = set(StoredFile.objects.filter(name__in=names).values_list("name", flat=True))
        for name in set(names) - referenced:
            if storage.written_at(name) < since:
                storage.delete(name)


def delete_lost_parts() -> None:
    """Delete the uploaded parts of attachments that are gone, or have been read, and those of
    files from which chats were imported.

    An attachment is stored before its parts.
    """
    _delete_parts_without(storage.UPLOADS, _find_unread)
    _delete_parts_without(storage.IMPORTS, import_files.find_existing_keys)
    _delete_copies()


def _delete_copies() -> None:
    """Delete the copies of databases that a killed process left here, if their files are gone."""
    paths = Path(settings.DATA_DIR).iterdir()
    copies = {match[1]: path for path in paths if (match := COPY.fullmatch(path.name))}
    for lost in set(copies) - import_files.find_existing_keys(list(copies)):
        copies[lost].unlink(missing_ok=True)


def _find_unread(keys: Collection[str]) -> set[str]:
    unread = Attachment.objects.exclude(state=Attachment.State.READY).filter(pk__in=keys)
    return {str(pk) for pk in unread.values_list("pk", flat=True)}


def _delete_parts_without(folder: str, find_needed: Callable[[Collection[str]], set[str]]) -> None:
    names: dict[str, list[str]] = {}
    with suppress(FileNotFoundError):  # nothing was ever uploaded
        for name in storage.names_in(folder):
            if match := PART_NAME.fullmatch(name):
                names.setdefault(match[1], []).append(name)
    ids = list(names)
    for start in range(0, len(ids), LOOKED_UP_AT_ONCE):
        some = ids[start : start + LOOKED_UP_AT_ONCE]
        for lost in set(some) - find_needed(some):
            for name in names[lost]:
                storage.delete(name)
