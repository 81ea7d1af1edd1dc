"""The way to type commands of `manage.py` in the folder of this installation."""

import os
import sys
from pathlib import Path

_FOLDER = Path(__file__).parent.parent


def _python() -> str:
    python = Path(sys.executable)
    if python.is_relative_to(_FOLDER):
        return os.fspath(python.relative_to(_FOLDER))
    return os.fspath(python)


MANAGE = f"{_python()} manage.py"
