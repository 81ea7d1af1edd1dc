"""An LRU cache of rendered texts, limited by size in bytes.

`functools.lru_cache` limits entries, not bytes; the `LRUCache` of cachetools would need this lock.
"""

import sys
import threading
from collections import OrderedDict
from hashlib import blake2b

from django.utils.safestring import SafeString


class Cache:
    """Maps keys to HTML. Thread-safe."""

    def __init__(self, max_bytes: int) -> None:
        self._most_bytes = max_bytes
        self._bytes = 0
        self._kept: OrderedDict[bytes, SafeString] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: bytes) -> SafeString | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def put(self, key: bytes, html: SafeString) -> None:
        with self._lock:
            if key not in self._kept:
                self._kept[key] = html
                self._bytes += sys.getsizeof(html)
            while self._bytes > self._most_bytes:
                self._bytes -= sys.getsizeof(self._kept.popitem(last=False)[1])


def make_key(text: str, kind: bytes = b"") -> bytes:
    """Return the cache key of a text; each kind of rendering has keys of its own."""
    encoded = text.encode("utf-8", "surrogatepass")
    return blake2b(encoded, digest_size=16, person=kind).digest()
