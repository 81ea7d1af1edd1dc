"""Pages of attached PDFs as people see them: pictures, with text that can be selected.

Each is drawn in the sandbox when somebody looks at it. The last ones are kept in memory, and none
is stored, so there is nothing to erase with the file.
"""

from collections import OrderedDict
from concurrent.futures import Future
from functools import partial
from itertools import count
from threading import Lock

from chatapp import documents
from chatapp.concurrency.fair_threads import FairThreads
from chatapp.concurrency.futures import fulfil
from chatapp.concurrency.token_bucket import TokenBucket, TokenBuckets
from chatapp.documents import DrawnPage, Limits
from chatapp.models import StoredFile
from chatapp.models.files import storage

AT_ONCE = 2
SECONDS_PER_HOUR = 300.0  # of drawing, for each person
LIMITS = Limits(image_side=1_600, seconds=10.0)
CACHE_BYTES = 16 * 2**20

threads = FairThreads(
    AT_ONCE,
    "drawing",
    TokenBuckets(partial(TokenBucket, SECONDS_PER_HOUR / 3600, SECONDS_PER_HOUR)),
)
_requests = count()


class PageCache:
    """The last pages that were drawn, up to a total size, by file and index."""

    def __init__(self, max_bytes: int) -> None:
        self._most, self._size = max_bytes, 0
        self._pages: OrderedDict[tuple[int, int], DrawnPage] = OrderedDict()
        self._lock = Lock()

    def get(self, key: tuple[int, int]) -> DrawnPage | None:
        with self._lock:
            if key in self._pages:
                self._pages.move_to_end(key)
            return self._pages.get(key)

    def add(self, key: tuple[int, int], page: DrawnPage) -> None:
        with self._lock:
            if former := self._pages.pop(key, None):
                self._size -= _count_bytes(former)
            self._pages[key] = page
            self._size += _count_bytes(page)
            while self._size > self._most:
                self._size -= _count_bytes(self._pages.popitem(last=False)[1])


def _count_bytes(page: DrawnPage) -> int:
    return len(page.picture.data) + sum(len(run.text) for run in page.runs)


page_cache = PageCache(CACHE_BYTES)


def draw_page(file: StoredFile, index: int, person: int) -> "Future[DrawnPage]":
    """Draw a page of a person's PDF soon; the first is 0.

    The result raises `Unreadable`, and `OSError` if the storage fails.
    """
    result: Future[DrawnPage] = Future()
    if page := page_cache.get((file.pk, index)):
        result.set_result(page)
    else:
        # The page that somebody has scrolled to last comes first.
        draw = partial(_draw, file, index)
        threads.submit(person, -next(_requests), partial(fulfil, result, draw))
    return result


def shut_down() -> None:
    """Draw nothing more."""
    threads.stop()


def _draw(file: StoredFile, index: int) -> DrawnPage:
    with storage.local_copy(file.name) as path:
        page = documents.draw_page(path, LIMITS, index)
    page_cache.add((file.pk, index), page)
    return page
