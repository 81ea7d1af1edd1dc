"""Bounds how much of an export is read, and lets its person cancel that in the middle of a step."""

import time

from chatapp.models import Import
from chatapp.models.platform.jobs import JobFailed

POLL_SECONDS = 0.5
MAX_READ_BYTES = 8 * 2**30  # when unpacked, without files
TOO_MUCH = "This export has more than 8 GB of text. Split it, and import the parts."


class Watch:
    """Called with the number of bytes of each piece that is read.

    Raises `JobFailed` if they are too many, and `JobLost` if the job was cancelled.
    """

    def __init__(self, job: Import) -> None:
        self._job = job
        self._read = 0
        self._looks_at = time.monotonic() + POLL_SECONDS

    def __call__(self, count: int) -> None:
        self._read += count
        if self._read > MAX_READ_BYTES:
            raise JobFailed(TOO_MUCH)
        if (now := time.monotonic()) > self._looks_at:
            self._looks_at = now + POLL_SECONDS
            self._job.advance()
