"""The wait of a streaming reply: for its model, the next try of a failed request, or a fallback."""

import time

from chatapp.models import Message
from chatapp.rendering.fragments.endings import retry_text
from chatapp.rendering.fragments.fallback_words import waiting_text
from chatapp.rendering.fragments.replies import Waiting, by_fragment, waiting_fragment
from chatapp.upstream.wire.errors.upstream_error import UpstreamError


class LiveWaiting:
    """Set `heard_at` to `time.monotonic()` whenever something arrives."""

    def __init__(self, message: Message) -> None:
        self._message = message
        self.heard_at = time.monotonic()  # when something last arrived, or when the next try begins
        self._text = ""  # shown instead of the usual one, until something arrives
        self._next_try = 0  # its number; 0 if it is not waited for
        self._fragment = ""  # not sent yet

    @property
    def is_special(self) -> bool:
        """Whether it waits for another try or for another model."""
        return bool(self._text)

    def begin_retry(self, error: UpstreamError, seconds: float, number: int) -> None:
        self._show(retry_text(error), time.monotonic() + seconds, number)

    def ask_another(self) -> None:
        """Say that another model is asked, which the message names now."""
        self._show(waiting_text(self._message), time.monotonic())
        self._fragment += by_fragment(self._message)

    def end_special(self) -> None:
        self._show("", self.heard_at)

    def build_waiting(self) -> Waiting:
        """Return what the page shows, with the seconds of silence so far."""
        silent_for = time.monotonic() - self.heard_at
        if not self._text:
            return Waiting.for_model(silent_for)
        return Waiting(self._text, silent_for, self._next_try)

    def _show(self, text: str, heard_at: float, next_try: int = 0) -> None:
        self._text, self.heard_at, self._next_try = text, heard_at, next_try
        self._fragment = waiting_fragment(self._message.pk, self.build_waiting())

    def pop_fragment(self) -> str:
        """Return the fragment since the last call; empty if nothing changed."""
        fragment, self._fragment = self._fragment, ""
        return fragment
