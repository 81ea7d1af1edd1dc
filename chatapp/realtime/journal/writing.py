"""The writing side: one folder per process with one file per reply. Nothing here raises."""

import errno
import fcntl
import logging
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.utils.crypto import salted_hmac

from chatapp.models.conversations.messages.rounds import Round, ToolRun
from chatapp.realtime.journal.records import (
    MAX_BYTES,
    Heading,
    Record,
    RequestSent,
    RoundEnded,
    ToolRunChanged,
    encode_events,
    encode_record,
)
from chatapp.upstream.wire.events import Event
from chatapp.upstream.wire.requests.estimates import PromptSize

logger = logging.getLogger(__name__)

MAX_PROCESS_BYTES = 1024 * 1024 * 1024  # of all files of one process
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW


def folder() -> Path:
    """Return the folder of this host's journals."""
    return Path(settings.DATA_DIR) / "journal"


def installation() -> str:
    """Return an id that tells this installation's files from another's in the same folder."""
    database = Path(str(settings.DATABASES["default"]["NAME"])).name
    return salted_hmac("chatapp.journal", database, algorithm="sha256").hexdigest()[:32]


class Journal:
    """The journal of this process. Its folder stays locked until `close` or the process's death."""

    def __init__(self, process: UUID) -> None:
        self.process = process
        self.size = 0
        self._installation = installation()
        self._path = folder() / process.hex
        self._lock: int | None = None
        self._has_reported = False
        try:
            self._lock = self._lock_folder()
        except OSError as error:
            self.report(error)
            with suppress(OSError):
                self._temporary_path.rmdir()

    def open(self, reply: UUID) -> "Segment":
        """Return a segment for one reply; write to it until it is discarded."""
        heading = Heading(self._installation, self.process, reply)
        return Segment(self, self._path / reply.hex if self._lock else None, heading)

    def close(self) -> None:
        """Unlock the folder, and remove it if all its replies were saved."""
        if self._lock is not None:
            with suppress(OSError):
                self._path.rmdir()
            os.close(self._lock)
            self._lock = None

    def report(self, error: Exception) -> None:
        """Log the journal's first failure."""
        if not self._has_reported:
            self._has_reported = True
            logger.error(
                "The journal in %s can't be written; replies go on, but if this process is killed "
                "the text since the last checkpoint is lost: %s",
                self._path,
                error,
            )

    def _lock_folder(self) -> int:
        """Create and lock the folder under a temporary name, so that it is never seen unlocked."""
        self._path.parent.mkdir(mode=0o700, exist_ok=True)
        self._temporary_path.mkdir(mode=0o700)
        lock = os.open(self._temporary_path, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._temporary_path.rename(self._path)
        return lock

    @property
    def _temporary_path(self) -> Path:
        return self._path.with_name(f".{self.process.hex}")


class Segment:
    """One reply's file. After its first failure it is off, and everything else goes on.

    The file is created when the first events arrive: creating it takes long, and must not delay
    the request.
    """

    def __init__(self, journal: Journal | None, path: Path | None, heading: Heading) -> None:
        self._journal = journal
        self._path = path
        self._size = 0
        self._file: int | None = None
        self._is_created = False
        self._heading = encode_record(heading)
        self._first = self._heading if path else b""  # written once there is a file

    @classmethod
    def off(cls) -> "Segment":
        """Return a segment that writes nothing."""
        return cls(None, None, Heading("", UUID(int=0), UUID(int=0)))

    @property
    def is_on(self) -> bool:
        """Whether it holds everything that has arrived."""
        return self._file is not None or bool(self._first)

    def ask(self, size: PromptSize, choices: int) -> None:
        if self._file is None and self._first:
            self._first += encode_record(RequestSent(size, choices))
        else:
            self._append(RequestSent(size, choices))

    def restart(self) -> None:
        """Forget everything so far, because another model is asked and nothing had arrived."""
        if not self.is_on:
            return
        if self._file is None:
            self._first = self._heading
            return
        try:
            os.ftruncate(self._file, 0)
        except OSError as error:
            self._fail(error)
            return
        assert self._journal
        self._journal.size -= self._size
        self._size = 0
        self._try(lambda: self._write(self._heading))

    def append(self, events: Sequence[Event]) -> None:
        """Append the events of one read."""
        if not self.is_on:
            return
        try:
            if data := encode_events(events):
                self._write(data)
        except Exception as error:  # noqa: BLE001 - the reply must go on
            self._fail(error)

    def run(self, index: int, run: ToolRun) -> None:
        self._append(ToolRunChanged(index, run))

    def end_round(self, round: Round) -> None:
        self._append(RoundEnded(round))

    def discard(self) -> None:
        """Remove the file, because the reply is saved."""
        self.close()
        if self._path and self._is_created:
            with suppress(OSError):
                self._path.unlink()

    def close(self) -> None:
        self._first = b""
        if self._file is not None and self._journal:
            self._journal.size -= self._size
            os.close(self._file)
            self._file = None

    def _append(self, record: Record) -> None:
        if self.is_on:
            self._try(lambda: self._write(encode_record(record)))

    def _write(self, data: bytes) -> None:
        assert self._path
        assert self._journal
        if self._file is None:
            self._file = os.open(self._path, _NEW_FILE, 0o600)
            self._is_created = True
            data, self._first = self._first + data, b""
        self._size += len(data)
        self._journal.size += len(data)
        if self._size > MAX_BYTES or self._journal.size > MAX_PROCESS_BYTES:
            raise OSError(errno.EFBIG, "the size limit is reached")
        if os.write(self._file, data) != len(data):
            raise OSError(errno.ENOSPC, "a record was written only in part")

    def _try(self, write: Callable[[], None]) -> None:
        try:
            write()
        except Exception as error:  # noqa: BLE001 - the reply must go on
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        assert self._journal
        self._journal.report(error)
        self.close()
