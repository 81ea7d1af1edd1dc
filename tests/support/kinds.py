"""The kinds of tests, from the quickest to the slowest.

A test's kind is the slowest thing that its fixtures bring. It is added as a marker at collection,
so `pytest -m pure` runs what needs neither a network nor a database. A test that reaches for more
without a fixture carries the marker of its kind itself.
"""

import pytest

KINDS = ("pure", "network", "database", "transaction", "server", "browser", "deployment")

# The fixtures that bring each kind.
FIXTURES = {
    "network": {"upstream"},
    "database": {"db"},
    "transaction": {"transactional_db"},
    "server": {"site"},
    "browser": {"chromium", "engine"},
    "deployment": {"programs"},
}


def kind_of(item: pytest.Item) -> str:
    """The slowest of the kinds that a test's markers and fixtures name."""
    names = set(getattr(item, "fixturenames", ()))
    for kind in reversed(KINDS):
        if item.get_closest_marker(kind) or names & FIXTURES.get(kind, set()):
            return kind
    return KINDS[0]


def mark(item: pytest.Item) -> None:
    """Adds the marker of its kind to a test that was collected."""
    item.add_marker(kind_of(item))
