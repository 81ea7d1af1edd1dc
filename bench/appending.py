"""`python -m bench.appending WRITERS EVENTS`: that many processes append that many events each.

Prints how many events were appended per second, and how many per second are verified afterwards.
"""

import multiprocessing
import sys
import time
from multiprocessing.synchronize import Barrier

import django


def main(writers: int, events: int) -> None:
    context = multiprocessing.get_context("spawn")
    begin, end = context.Barrier(writers + 1), context.Barrier(writers + 1)
    processes = [context.Process(target=append, args=(begin, end, events)) for _ in range(writers)]
    for process in processes:
        process.start()
    begin.wait()
    began_at = time.monotonic()
    end.wait()
    appended = writers * events / (time.monotonic() - began_at)
    for process in processes:
        process.join()
    print(appended, measure_verify_rate())


def append(begin: Barrier, end: Barrier, events: int) -> None:
    django.setup()
    from django.db import transaction

    from chatapp.models import audit

    def record_event() -> None:
        with transaction.atomic():
            audit.record("person.signed_in", actor=None, detail={"ip": "192.0.2.1"})

    record_event()  # opens the connection and prepares statements
    begin.wait()
    for _ in range(events):
        record_event()
    end.wait()


def measure_verify_rate() -> float:
    django.setup()
    from chatapp.models import audit

    began_at = time.monotonic()
    return audit.verify().events / (time.monotonic() - began_at)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
