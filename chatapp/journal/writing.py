"""The writing side: a process's folder, and a file a reply in it. Nothing here raises."""

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

from chatapp.journal.records import (
    MAX_BYTES,
    Asking,
    Heading,
    Ran,
    Record,
    RoundEnded,
    line,
    line_of,
)
from chatapp.models.rounds import Round, ToolRun
from chatapp.upstream.wire.estimates import Asked
from chatapp.upstream.wire.events import Event

logger = logging.getLogger(__name__)

MAX_PROCESS_BYTES = 1024 * 1024 * 1024  # of all files of one process
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW


def folder() -> Path:
    """Where the journals of this host are."""
    return Path(settings.DATA_DIR) / "journal"


def installation() -> str:
    """Tells this installation's files from those of another that uses the same folder."""
    database = Path(str(settings.DATABASES["default"]["NAME"])).name
    return salted_hmac("chatapp.journal", database, algorithm="sha256").hexdigest()[:32]


class Journal:
    """This process's. Its folder is locked until `close`, or until the process dies."""

    def __init__(self, process: UUID) -> None:
        self.process = process
        self.size = 0
        self._installation = installation()
        self._path = folder() / process.hex
        self._lock: int | None = None
        self._is_told = False
        try:
            self._lock = self._locked_folder()
        except OSError as error:
            self.tell(error)
            with suppress(OSError):
                self._young_path.rmdir()

    def open(self, reply: UUID) -> "Segment":
        """The file of one reply, which is written until it is discarded."""
        heading = Heading(self._installation, self.process, reply)
        return Segment(self, self._path / reply.hex if self._lock else None, heading)

    def close(self) -> None:
        """Gives the folder up, and removes it where every reply of its was saved."""
        if self._lock is not None:
            with suppress(OSError):
                self._path.rmdir()
            os.close(self._lock)
            self._lock = None

    def tell(self, error: Exception) -> None:
        """Says once that the journal fails."""
        if not self._is_told:
            self._is_told = True
            logger.error(
                "The journal in %s can't be written, so a kill -9 loses what came since the last "
                "checkpoint; replies go on: %s",
                self._path,
                error,
            )

    def _locked_folder(self) -> int:
        """Made under another name, so that nobody sees it without its lock."""
        self._path.parent.mkdir(mode=0o700, exist_ok=True)
        self._young_path.mkdir(mode=0o700)
        lock = os.open(self._young_path, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._young_path.rename(self._path)
        return lock

    @property
    def _young_path(self) -> Path:
        return self._path.with_name(f".{self.process.hex}")


class Segment:
    """One reply's file. Where it fails it is off from then on, and everything else goes on.

    It is made when something arrives: a file takes long, and nobody shall be asked later for it.
    """

    def __init__(self, journal: Journal | None, path: Path | None, heading: Heading) -> None:
        self._journal = journal
        self._path = path
        self._size = 0
        self._file: int | None = None
        self._is_made = False
        self._first = line(heading) if path else b""  # that is written once there is a file

    @classmethod
    def off(cls) -> "Segment":
        """Writes nothing."""
        return cls(None, None, Heading("", UUID(int=0), UUID(int=0)))

    @property
    def is_on(self) -> bool:
        """Whether it holds all that has arrived."""
        return self._file is not None or bool(self._first)

    def ask(self, asked: Asked, choices: int) -> None:
        if self._file is None and self._first:
            self._first += line(Asking(asked, choices))
        else:
            self._append(Asking(asked, choices))

    def append(self, events: Sequence[Event]) -> None:
        """What one read brought."""
        if not self.is_on:
            return
        try:
            if data := line_of(events):
                self._write(data)
        except Exception as error:  # noqa: BLE001 - whatever it is, the reply must go on
            self._fail(error)

    def run(self, index: int, run: ToolRun) -> None:
        self._append(Ran(index, run))

    def end_round(self, round: Round) -> None:
        self._append(RoundEnded(round))

    def discard(self) -> None:
        """The reply is saved, so nothing of it stays here."""
        self.close()
        if self._path and self._is_made:
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
            self._try(lambda: self._write(line(record)))

    def _write(self, data: bytes) -> None:
        assert self._path
        assert self._journal
        if self._file is None:
            self._file = os.open(self._path, _NEW_FILE, 0o600)
            self._is_made = True
            data, self._first = self._first + data, b""
        self._size += len(data)
        self._journal.size += len(data)
        if self._size > MAX_BYTES or self._journal.size > MAX_PROCESS_BYTES:
            raise OSError(errno.EFBIG, "it would grow larger than it may")
        if os.write(self._file, data) != len(data):
            raise OSError(errno.ENOSPC, "a record was written in part only")

    def _try(self, write: Callable[[], None]) -> None:
        try:
            write()
        except Exception as error:  # noqa: BLE001 - whatever it is, the reply must go on
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        assert self._journal
        self._journal.tell(error)
        self.close()
