"""PostgreSQL and Redis for the tests: empty, on free ports, fast and without durability."""

import os
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.live import free_port
from tests.support.program import Program

DEBIANS = "/usr/lib/postgresql/*/bin"  # not in PATH
POSTGRES_USER = "postgres"  # runs it if the tests run as root, which PostgreSQL refuses


def postgres_program(name: str) -> str:
    """Return the path of `initdb` or `postgres`, or an empty string if it is not installed."""
    installed = sorted(Path("/").glob(f"{DEBIANS[1:]}/{name}"), reverse=True)
    return str(installed[0]) if installed else shutil.which(name) or ""


class Postgres(Program):
    """A cluster in a temporary folder. `stop` is a fast shutdown, `kill` a crash."""

    ready = r"database system is ready to accept connections"
    polite = signal.SIGINT
    impolite = signal.SIGQUIT  # after SIGKILL its children would still hold the shared memory

    def __init__(self, *, is_durable: bool = False) -> None:
        """Unless it `is_durable`, it may lose what it has not yet written to the disk."""
        super().__init__()
        self._is_durable = is_durable
        self.port = free_port()
        self.url = f"postgres://postgres@127.0.0.1:{self.port}/postgres"

    def __enter__(self) -> Self:
        self._folder = Path(tempfile.mkdtemp(prefix="chatapp-postgres-"))
        if self._as_user:
            shutil.chown(self._folder, POSTGRES_USER)
        options = ["--auth=trust", "--username=postgres", "--no-sync", "--encoding=UTF8"]
        initdb = [postgres_program("initdb"), *options, f"--pgdata={self._folder}"]
        subprocess.run([*self._as_user, *initdb], check=True, capture_output=True)
        return super().__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        super().__exit__(kind, error, trace)
        shutil.rmtree(self._folder)

    def command(self) -> list[str]:
        settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "logging_collector": "off",
        }
        if not self._is_durable:
            settings |= {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
        options = [f"--{name}={value}" for name, value in settings.items()]
        program = [postgres_program("postgres"), "-D", str(self._folder), "-p", str(self.port)]
        return [*self._as_user, *program, *options]

    def _signal_all(self, number: signal.Signals) -> None:
        """Signal its children too, since each has a session of its own."""
        if self.is_running:
            for child in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split():
                with suppress(ProcessLookupError):
                    os.kill(int(child), number)
        super()._signal_all(number)

    @property
    def _as_user(self) -> list[str]:
        if os.geteuid() != 0:
            return []
        return [
            "setpriv",
            f"--reuid={POSTGRES_USER}",
            f"--regid={POSTGRES_USER}",
            "--clear-groups",
        ]


class Redis(Program):
    """Stores nothing on the disk: its data is gone when it ends."""

    ready = r"Ready to accept connections"

    def __init__(self) -> None:
        super().__init__()
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"

    def command(self) -> list[str]:
        options = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--daemonize", "no"]
        return ["redis-server", "--port", str(self.port), *options]
