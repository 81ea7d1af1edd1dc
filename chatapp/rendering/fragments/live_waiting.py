"""What a streaming reply waits for: its model, or the next try of a failed request."""

import time

from chatapp.models import Message
from chatapp.rendering.fragments.endings import retry_text
from chatapp.rendering.fragments.replies import Waiting, waiting_fragment
from chatapp.upstream.wire.errors import UpstreamError


class LiveWaiting:
    """Set `heard_at` to `time.monotonic()` whenever something arrives."""

    def __init__(self, message: Message) -> None:
        self._message = message
        self.heard_at = time.monotonic()  # when something last arrived, or when the next try begins
        self._next_try: tuple[str, int] | None = None  # its text and number, shown while waiting
        self._fragment = ""  # not sent yet

    @property
    def is_for_retry(self) -> bool:
        return self._next_try is not None

    def begin_retry(self, error: UpstreamError, seconds: float, number: int) -> None:
        self._next_try = retry_text(error), number
        self.heard_at = time.monotonic() + seconds
        self._fragment = waiting_fragment(self._message.pk, self.shown())

    def end_retry(self) -> None:
        self._next_try = None
        self._fragment = waiting_fragment(self._message.pk, self.shown())

    def shown(self) -> Waiting:
        """Return what the page shows, with the seconds of silence so far."""
        silent_for = time.monotonic() - self.heard_at
        if self._next_try is None:
            return Waiting.for_model(silent_for)
        text, number = self._next_try
        return Waiting(text, silent_for, number)

    def take_fragment(self) -> str:
        """Return the fragment since the last call; empty if nothing changed."""
        fragment, self._fragment = self._fragment, ""
        return fragment
