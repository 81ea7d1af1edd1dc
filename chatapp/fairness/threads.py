"""Which thread's turn it is, where only one at a time may go on."""

import threading
from collections import deque


class InTurn:
    """A lock that threads get in the order in which they asked for it.

    Python's own goes to whoever is quickest, which is the thread that has just let go of it: one
    that draws a page of many texts would keep the event loop waiting for all of them.
    """

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._is_taken = False

    def __enter__(self) -> None:
        with self._mutex:
            if not self._is_taken:
                self._is_taken = True
                return
            turn = threading.Lock()
            turn.acquire()
            self._waiting.append(turn)
        turn.acquire()  # until it is handed on

    def __exit__(self, *_error: object) -> None:
        with self._mutex:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._is_taken = False
