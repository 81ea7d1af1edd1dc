"""The kinds of tests, from fastest to slowest.

A test's kind is the slowest thing that its fixtures use. It is added as a marker at collection, so
`pytest -m pure` runs tests that need neither network nor database. A test that uses more than its
fixtures show carries the marker of its kind itself.
"""

import inspect
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

KINDS = ("pure", "network", "database", "transaction", "server", "browser", "deployment")

# The fixtures that bring each kind.
FIXTURES = {
    "network": {"upstream"},
    "database": {"db"},
    "transaction": {"transactional_db"},
    "server": {"site"},
    "browser": {"chromium"},
    "deployment": {"programs"},
}


def is_never_pure(module: Path) -> bool:
    """Return whether a module marks all its tests as using a database.

    `pytest -m pure` does not import these modules: collecting them would take a third of its time.
    """
    is_test = module.name.startswith("test_") and module.suffix == ".py"
    return is_test and "\npytestmark = pytest.mark.django_db" in module.read_text()


def mark(item: pytest.Item) -> None:
    """Add the marker of its kind to a collected test.

    Queries of an asynchronous test run in other threads, which see only committed rows, so such a
    test gets a database without a surrounding transaction.
    """
    if inspect.iscoroutinefunction(getattr(item, "function", None)) and _uses_a_database(item):
        item.add_marker(pytest.mark.django_db(transaction=True), append=False)
    kind = find_kind(item)
    item.add_marker(kind)
    item.user_properties.append(("kind", kind))  # the controller of xdist sees reports, not items


def find_kind(item: pytest.Item) -> str:
    """Return the slowest of the kinds that a test's markers and fixtures name."""
    return next(kind for kind in reversed(KINDS) if kind == KINDS[0] or _is_of_kind(item, kind))


def _is_of_kind(item: pytest.Item, kind: str) -> bool:
    if item.get_closest_marker(kind) or _fixtures(item) & FIXTURES.get(kind, set()):
        return True
    marker = item.get_closest_marker("django_db")
    uses_transaction = {"database": False, "transaction": True}.get(kind)
    return marker is not None and marker.kwargs.get("transaction", False) == uses_transaction


def _uses_a_database(item: pytest.Item) -> bool:
    return bool(item.get_closest_marker("django_db")) or "db" in _fixtures(item)


def _fixtures(item: pytest.Item) -> set[str]:
    return set(getattr(item, "fixturenames", ()))


# The audit events of Python that a pure test must not raise.
IMPURE = {"socket.bind", "socket.connect", "subprocess.Popen"}
_in_pure_test = False


def _forbid(event: str, arguments: tuple[object, ...]) -> None:
    if _in_pure_test and event in IMPURE and threading.current_thread() is threading.main_thread():
        raise RuntimeError(f"A pure test may not use {event}. Mark it as network or server.")


sys.addaudithook(_forbid)


@contextmanager
def enforce_purity(item: pytest.Item) -> Iterator[None]:
    """Fail a pure test that uses sockets or processes."""
    global _in_pure_test
    _in_pure_test = item.get_closest_marker("pure") is not None
    try:
        yield
    finally:
        _in_pure_test = False
