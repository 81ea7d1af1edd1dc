"""The import layers defined in pyproject.toml."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# In a process of its own, since it configures logging and would silence the logs of all tests.
LINT = "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(cache_dir=None))"


@pytest.mark.server
def test_imports_only_go_down() -> None:
    done = subprocess.run([sys.executable, "-c", LINT], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
