"""A lock that goes from thread to thread in the order of their asking."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from chatapp.fairness.threads import InTurn


def test_one_at_a_time_goes_on() -> None:
    lock, inside, most = InTurn(), 0, 0

    def go_in(_: int) -> None:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
            time.sleep(0)
            inside -= 1

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(go_in, range(1000)))
    assert (inside, most) == (0, 1)


def test_whoever_comes_back_at_once_stands_behind_those_who_wait() -> None:
    lock, order = InTurn(), list[str]()
    waits = threading.Event()

    def wait() -> None:
        waits.set()
        with lock:
            order.append("who waited")

    with lock:
        thread = threading.Thread(target=wait)
        thread.start()
        waits.wait()
        time.sleep(0.05)  # it asks
    with lock:
        order.append("who came back")
    thread.join()
    assert order == ["who waited", "who came back"]


def test_an_error_lets_go_of_it() -> None:
    lock = InTurn()
    with pytest.raises(ZeroDivisionError), lock:
        _ = 1 / 0
    with lock:
        pass
