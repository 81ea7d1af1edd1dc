"""An older version of the app: its code in a temporary folder, an environment that runs it, and an
installation of it on SQLite or PostgreSQL."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.live import ROOT, Address
from tests.support.program import Program
from tests.support.shell import Shell

CACHE = Path(tempfile.gettempdir(), "chatapp-versions")
REQUIREMENTS = "requirements/base.txt"
READ_PATHS = """
import json, django
django.setup()
from django.urls import get_resolver
patterns = get_resolver().reverse_dict
names = {name: patterns[name] for name in patterns if isinstance(name, str)}
print(json.dumps({name: "/" + found[0][0][0] for name, found in names.items()}))
"""


@dataclass(frozen=True)
class Code:
    """The code of a commit, and the Python that has the packages it requires."""

    folder: Path
    python: str


def check_out(commit: str) -> Code:
    """Return the code of a commit. Both the code and its environment are kept for the next time."""
    name = _git("rev-parse", "--short=12", commit).decode().strip()
    folder = CACHE / name
    if not folder.exists():
        CACHE.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as unpacked:
            with tarfile.open(fileobj=BytesIO(_git("archive", commit))) as archive:
                archive.extractall(unpacked, filter="data")
            Path(unpacked).rename(folder)
            Path(unpacked).mkdir()  # for `TemporaryDirectory` to remove
    return Code(folder, _environment_for((folder / REQUIREMENTS).read_bytes()))


def _environment_for(requirements: bytes) -> str:
    """Return the interpreter of an environment with these packages: ours if they are the same."""
    if requirements == (ROOT / REQUIREMENTS).read_bytes():
        return sys.executable
    folder = CACHE / f"venv-{sha256(requirements).hexdigest()[:12]}"
    python, is_complete = folder / "bin" / "python", folder / "is-complete"
    if not is_complete.exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "requirements.txt").write_bytes(requirements)
        uv = [sys.executable, "-m", "uv"]
        subprocess.run([*uv, "venv", "--clear", "--python", sys.executable, folder], check=True)
        (folder / "requirements.txt").write_bytes(requirements)
        packages = ("--require-hashes", "--requirement", str(folder / "requirements.txt"))
        subprocess.run([*uv, "pip", "install", "--python", python, *packages], check=True)
        is_complete.touch()
    return str(python)


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True).stdout


class Installation(Program, Address):
    """A server of that version, with its data; `run` and `manage` also work while it is stopped."""

    ready = r"chatapp is at (\S+)"

    def __init__(self, code: Code, environment: Mapping[str, str]) -> None:
        super().__init__()
        self._code = code
        self._shell: Shell | None = None
        self.environment = dict(environment)  # with which another version uses the same data
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": environment["DATA_DIR"],
            "DJANGO_SETTINGS_MODULE": "chatapp.settings",
            "PORT": "0",
            "CHATAPP_TABS_PER_PERSON": "10000",
            "PYTHONWARNINGS": "ignore",
            **environment,
        }

    def prepare(self) -> None:
        """Make the tables and collect the static files."""
        self.manage("migrate", "--verbosity", "0")
        self._collect_static()
        self._paths: dict[str, str] = json.loads(self.run(READ_PATHS))

    def _collect_static(self) -> None:
        """Collect the static files, which a backup leaves out, once for each version."""
        collected = CACHE / f"static-{self._code.folder.name}"
        target = Path(self._environment["DATA_DIR"], "static")
        if not collected.exists():
            self.manage("collectstatic", "--noinput", "--verbosity", "0")
            shutil.move(target, collected)
        target.symlink_to(collected)

    def command(self) -> list[str]:
        return [self._code.python, "manage.py", "serve"]

    def directory(self) -> str:
        return str(self._code.folder)

    def child_environment(self) -> Mapping[str, str]:
        return self._environment | ({"PORT": str(urlsplit(self.url).port)} if self.url else {})

    def begin(self) -> None:
        """Start the server and wait until it answers."""
        self.url = self.begin_start()[1].rstrip("/")

    def has_page(self, name: str) -> bool:
        return name in self._paths

    def path(self, name: str, **arguments: object) -> str:
        """Return the path of a page by its name, as `reverse` would."""
        return self._paths[name] % arguments

    def manage(self, *arguments: str, **environment: str) -> str:
        """Run a management command of that version and return what it printed."""
        return self._run("manage.py", *arguments, **environment)

    def run(self, script: str, *arguments: str) -> str:
        """Run a script with that version's code and return what it printed."""
        if self._shell is None:
            self._shell = Shell(self._environment, self._code.python, self._code.folder)
        return self._shell.run(f"import sys\nsys.argv = {['-c', *arguments]!r}\n{script}")

    def close(self) -> None:
        """Kill the server if it still runs, and end the process for scripts."""
        if self.is_running:
            self.kill()
        if self._shell:
            self._shell.close()

    def _run(self, *arguments: str, **environment: str) -> str:
        done = subprocess.run(
            [self._code.python, *arguments],
            cwd=self._code.folder,
            env={**self._environment, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout
