"""Count the tries of a request, so that it can fail at first and then succeed."""

from hashlib import sha256

MAX_REMEMBERED = 1000


class Tries:
    """Counts the failed tries of each request, identified by its messages."""

    def __init__(self) -> None:
        self._failed: dict[bytes, int] = {}

    def fails(self, messages: bytes, times: int) -> bool:
        """Whether this try is one of the first `times`; after that, counting starts over."""
        key = sha256(messages).digest()
        failed = self._failed.pop(key, 0)
        if failed >= times:
            return False
        self._failed[key] = failed + 1
        if len(self._failed) > MAX_REMEMBERED:
            del self._failed[next(iter(self._failed))]
        return True
