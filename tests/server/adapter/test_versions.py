"""The adapter depends on private parts of these libraries, so each upgrade needs a look."""

from importlib.metadata import version

# Before you change one: compare what `chatapp/server/adapter` overrides and uses with the new
# version, run `make test-all`, and see whether a workaround has become needless.
EXAMINED = {"daphne": "4.2.3", "Twisted": "26.10.0", "autobahn": "26.10.2"}


def test_the_installed_versions_are_those_that_the_adapter_was_compared_with() -> None:
    assert {name: version(name) for name in EXAMINED} == EXAMINED
