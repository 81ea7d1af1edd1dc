"""How much a run tests: what matters before each commit, or everything there is.

`make test` runs the first, `make test-all` the second. A test that is marked `thorough` runs in the
second only. It repeats what a quicker test proves: with more inputs, in another window, or through
more of the app.
"""

import os
from collections.abc import Iterable
from typing import Any, TypeVar

import pytest
from hypothesis import settings

THOROUGH = os.environ.get("CHATAPP_TEST_THOROUGH") == "1"

T = TypeVar("T")

# A deadline would fail a test for what else the machine does.
settings.register_profile("quick", derandomize=True, database=None, deadline=None)
settings.register_profile("thorough", derandomize=False, deadline=None)
settings.load_profile("thorough" if THOROUGH else "quick")


def scaled(quick: T, thorough: T) -> T:
    """A size of generated input that depends on the run."""
    return thorough if THOROUGH else quick


def sampled(values: Iterable[Any], quick: int = 1) -> list[Any]:
    """Parameters, or tuples of them, of which a quick run takes the first few."""
    several = [value if isinstance(value, tuple) else (value,) for value in values]
    return [
        pytest.param(*value, marks=[pytest.mark.thorough] if number >= quick else [])
        for number, value in enumerate(several)
    ]


def deselect_thorough(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves thorough tests out of a quick run, but for those that the command line names."""
    if THOROUGH or any("::" in argument for argument in config.args):
        return
    left_out = [item for item in items if item.get_closest_marker("thorough")]
    if left_out:
        items[:] = [item for item in items if not item.get_closest_marker("thorough")]
        config.hook.pytest_deselected(items=left_out)
