"""The amount that a run tests: what matters before each commit, or everything.

`make test` runs the first, `make test-all` the second. Tests marked `thorough` run only in the
second. They repeat what a faster test proves: with more inputs, in another window, or through more
of the app.
"""

import os
from collections.abc import Iterable
from typing import Any, TypeVar

import pytest
from hypothesis import settings

THOROUGH = os.environ.get("CHATAPP_TEST_THOROUGH") == "1"

T = TypeVar("T")

# A deadline would fail tests on a busy machine.
settings.register_profile("quick", derandomize=True, database=None, deadline=None)
settings.register_profile("thorough", derandomize=False, deadline=None)
settings.load_profile("thorough" if THOROUGH else "quick")


def choose_size(quick: T, thorough: T) -> T:
    """Return the size of generated input for this kind of run."""
    return thorough if THOROUGH else quick


def sample_params(values: Iterable[Any], quick: int = 1) -> list[Any]:
    """Return parameters, or tuples of them, where a quick run takes only the first few."""
    several = [value if isinstance(value, tuple) else (value,) for value in values]
    return [
        pytest.param(*value, marks=[pytest.mark.thorough] if number >= quick else [])
        for number, value in enumerate(several)
    ]


def deselect_thorough(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave thorough tests out of a quick run unless the command line names tests."""
    if THOROUGH or any("::" in argument for argument in config.args):
        return
    left_out = [item for item in items if item.get_closest_marker("thorough")]
    if left_out:
        items[:] = [item for item in items if not item.get_closest_marker("thorough")]
        config.hook.pytest_deselected(items=left_out)
