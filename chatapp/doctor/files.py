"""Check the storage of files, which all processes share, and the sandbox that reads files."""

import secrets
import tempfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from chatapp import documents
from chatapp.checks.results import CheckResult, failed, ok
from chatapp.documents import Limits, Unreadable
from chatapp.models import Attachment, StoredFile
from chatapp.models.files import storage

NEWEST = 50
_SHARE = (
    "Set CHATAPP_FILES_BUCKET on all hosts, or mount the same directory on all of them as "
    "DATA_DIR/files."
)


def stored_files() -> Iterator[CheckResult]:
    """Write, read and delete a file, and look for the newest ones and the newest attached ones."""
    name = f"doctor/{secrets.token_hex(8)}"
    try:
        storage.write(name, BytesIO(b"doctor"))
        is_kept = storage.read(name) == b"doctor"
        storage.delete(name)
    except OSError as error:
        yield failed("Files", f"they can't be stored: {error}", "Correct this, and run it again.")
        return
    newest = StoredFile.objects.order_by("-pk")
    attached = newest.filter(pk__in=Attachment.objects.exclude(file=None).values("file"))
    for kind, files in (("", newest[:NEWEST]), ("attached ", attached[:NEWEST])):
        missing = sum(not _is_there(file) for file in files)
        if missing:
            finding = f"{missing} of the {len(files)} newest {kind}files are missing here"
            yield failed("Files", finding, _SHARE)
            return
    if is_kept:
        yield ok("Files", "can be stored and read")
    else:
        yield failed("Files", "a file changed between writing and reading", "Check the storage.")


def sandbox() -> Iterator[CheckResult]:
    """Read a small text as an attached file is read, in a sandboxed subprocess."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"doctor")
        file.flush()
        try:
            documents.read(Path(file.name), Limits())
        except Unreadable as error:
            yield failed(
                "Reading files",
                "a text could not be read",
                "See the log. The kernel must allow seccomp filters and enough memory, and the "
                "processor must be x86-64 or ARM64.",
                str(error),
            )
        else:
            yield ok("Reading files", "works in a sandbox")


def _is_there(file: StoredFile) -> bool:
    try:
        return storage.size(file.name) == file.size
    except OSError:
        return False
