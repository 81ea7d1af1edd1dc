"""The layers of the code, as pyproject.toml draws them."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# In a process of its own: it configures logging for itself, and so would silence every test's log.
LINT = "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(cache_dir=None))"


@pytest.mark.server
def test_imports_look_down() -> None:
    done = subprocess.run([sys.executable, "-c", LINT], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
