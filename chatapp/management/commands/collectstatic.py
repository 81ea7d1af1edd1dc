"""`manage.py collectstatic`: Django's command, but it compares contents instead of times.

The files of a new version unpacked from an archive are older than the copies of the previous
version, which Django's own command would therefore keep.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib.staticfiles.management.commands import collectstatic
from django.core.files.storage import Storage

from chatapp.management import static_sources
from chatapp.management.sentences import explain_errors

CHUNK = 256 * 1024
READABLE = 0o022  # the umask: anyone may read what browsers are served


class Command(collectstatic.Command):
    def handle(self, **options: Any) -> str | None:
        with explain_errors(), _umask(READABLE):
            sources = static_sources.fingerprint()
            summary: str | None = super().handle(**options)
            if not self.dry_run:
                static_sources.remember(sources)
        return summary

    def delete_file(self, path: str, prefixed_path: str, source_storage: Storage) -> bool:
        """Return whether to copy the file; delete a copy that has different content.

        Django's command calls this for each file before it copies.
        """
        if not self.storage.exists(prefixed_path):
            return True
        if _is_same(source_storage, path, self.storage, prefixed_path):
            self.log(f"Skipping '{path}' (not changed)")
            self.unmodified_files.append(prefixed_path)
            return False
        if not self.dry_run:
            self.storage.delete(prefixed_path)
        return True


@contextmanager
def _umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def _is_same(source: Storage, path: str, target: Storage, copied_path: str) -> bool:
    if source.size(path) != target.size(copied_path):
        return False
    with source.open(path) as source_file, target.open(copied_path) as copied_file:
        while chunk := source_file.read(CHUNK):
            if chunk != copied_file.read(CHUNK):
                return False
    return True
