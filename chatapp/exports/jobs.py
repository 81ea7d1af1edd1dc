"""Makes large exports in the background."""

import logging
import time
from collections.abc import Iterator
from tempfile import TemporaryFile

from django.conf import settings

from chatapp.exports.writing import build_export, list_chats
from chatapp.models import ChatExport
from chatapp.models.files import storage
from chatapp.models.platform.jobs import JobFailed
from chatapp.realtime.worker import jobs

logger = logging.getLogger(__name__)

STEP_SECONDS = 0.03
STORAGE_FAILED = "The storage of files failed. Try again later, or tell your administrator."
EMPTY = "There are no chats to export any more."


def run_export(export: ChatExport) -> Iterator[None]:
    """Write the export to a temporary file, then to the storage. A step of `Jobs` at a time."""
    chats = list_chats(export)
    if not chats:
        raise JobFailed(EMPTY)
    export.done, export.total = 0, len(chats)
    export.advance()

    def on_chat() -> None:
        export.done += 1

    suffix, pieces = build_export(export, chats, on_chat)
    try:
        with TemporaryFile(dir=settings.DATA_DIR) as file:  # `/tmp` may be memory
            until = 0.0
            for piece in pieces:
                file.write(piece)
                if time.monotonic() > until:
                    yield
                    until = time.monotonic() + STEP_SECONDS
            size = file.tell()
            file.seek(0)
            jobs.check_person(export)
            storage.replace_file(export.stored_name, file)
    except OSError as error:
        logger.error("An export can't be stored: %s", error)
        raise JobFailed(STORAGE_FAILED) from error
    export.store_size(suffix, size)


jobs.register(ChatExport, run_export)
