"""The measured processes: `manage.py serve` on its own data directory, and its upstream.

CPU and memory are read from /proc, so the benchmarks need Linux.
"""

import http.client
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bench import processes

ROOT = Path(__file__).resolve().parent.parent
USERNAME, PASSWORD = "bench", "correct-horse-battery"
START_SECONDS = 30.0
# One person makes all of the load, and so may do as much as any number of people.
ONE_FOR_ALL = {
    "CHATAPP_TABS_PER_PERSON": "1000000",
    "CHATAPP_REPLIES_PER_PERSON": "1000000",
    "CHATAPP_ACTIONS_PER_SECOND": "1000000",
}


@dataclass(frozen=True)
class Server:
    """A running app, or the limit: its address, and what all its processes have used."""

    pid: int  # the process that started the others
    host: str  # with the port
    upstream: str  # with the port
    seconds_to_first_page: float
    stocked: tuple[str, ...] = ()  # the paths of the long conversations in its stock

    def workers(self, count: int) -> list[int]:
        """Return the serving processes: the children of the supervisor if there are several."""
        return processes.children(self.pid)[:count] if count > 1 else [self.pid]

    def cpu_seconds(self) -> float:
        return processes.cpu_seconds(self.pid)

    def resident_mib(self) -> float:
        return processes.resident_mib(self.pid)


@contextmanager
def serving(
    *,
    upstream: str = "",
    stock: str = "",
    before: Callable[[dict[str, str]], None] | None = None,
    **settings: str,
) -> Iterator[Server]:
    """Run the app, and a scripted upstream if none is given. Raises `RuntimeError` if it fails to
    start.

    Settings are environment variables; `stock` holds the arguments of `bench.stock`.
    """
    upstream_context = nullcontext(upstream) if upstream else scripted_upstream()
    with upstream_context as upstream, tempfile.TemporaryDirectory(prefix="bench-") as folder:
        data = Path(shutil.copytree(_prepared_data(), Path(folder) / "data"))
        port = settings.get("PORT") or str(free_port())
        host = f"127.0.0.1:{port}"
        environment = _environment(data) | settings
        environment |= {"PORT": port, "OPENAI_BASE_URL": f"http://{upstream}/v1"}
        if before:
            before(environment)
        stocked = _make_stock(stock, environment) if stock else ()
        log = data / "log"
        started_at = time.monotonic()
        with log.open("w") as output:
            process = subprocess.Popen(
                [sys.executable, "manage.py", "serve"],
                cwd=ROOT,
                env=environment,
                stdout=subprocess.PIPE,  # where the app says that it serves
                stderr=output,
            )
        try:
            try:
                _wait_until_serving(process)
                _get_first_page(host)
            except RuntimeError as error:
                raise RuntimeError(f"{error}:\n{log.read_text()}") from None
            yield Server(process.pid, host, upstream, time.monotonic() - started_at, stocked)
        finally:
            _stop(process)
            _warn_of_errors(log)


@contextmanager
def limiting() -> Iterator[Server]:
    """Run `bench.limit`, with a scripted upstream of its own."""
    with scripted_upstream() as upstream:
        started_at = time.monotonic()
        with _listening("bench.limit", upstream) as (process, host):
            _get_first_page(host)
            yield Server(process.pid, host, upstream, time.monotonic() - started_at)


@contextmanager
def scripted_upstream() -> Iterator[str]:
    """Run `bench.upstream`; yield its host and port."""
    with _listening("bench.upstream") as (_, host):
        yield host


@contextmanager
def _listening(module: str, *arguments: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """Run a module that prints its port."""
    command = [sys.executable, "-m", module, *arguments]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    try:
        yield process, f"127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.communicate()


@cache
def _prepared_data() -> Path:
    """Return a data directory with a migrated database, collected static files and one account."""
    folder = tempfile.TemporaryDirectory(prefix="bench-")
    _folders.append(folder)
    data = Path(folder.name)
    account = {"USERNAME": USERNAME, "PASSWORD": PASSWORD, "EMAIL": "bench@example.org"}
    environment = _environment(data)
    environment |= {f"DJANGO_SUPERUSER_{name}": value for name, value in account.items()}
    for command in (["migrate"], ["collectstatic", "--noinput"], ["createsuperuser", "--noinput"]):
        subprocess.run(
            [sys.executable, "manage.py", *command, "--verbosity", "0"],
            cwd=ROOT,
            env=environment,
            check=True,
        )
    return data


_folders: list[tempfile.TemporaryDirectory[str]] = []  # until this process ends


def _make_stock(stock: str, environment: dict[str, str]) -> tuple[str, ...]:
    """Make the stock; return the paths of its long conversations."""
    command = [sys.executable, "-m", "bench.stock", *stock.split()]
    made = subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE)
    return tuple(json.loads(made.stdout))


def _environment(data: Path) -> dict[str, str]:
    base_environment = {
        name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ
    }
    return base_environment | {"DATA_DIR": str(data), "OPENAI_API_KEY": "sk-bench"} | ONE_FOR_ALL


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_serving(process: subprocess.Popen[bytes]) -> None:
    assert process.stdout
    has_output, _, _ = select.select([process.stdout], [], [], START_SECONDS)
    if not (has_output and process.stdout.readline()):
        raise RuntimeError("the app did not start")


def _get_first_page(host: str) -> None:
    with closing(http.client.HTTPConnection(host, timeout=START_SECONDS)) as connection:
        connection.request("GET", "/accounts/login/")
        if (status := connection.getresponse().status) != 200:
            raise RuntimeError(f"the first page has the status {status}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    with process:  # closes its pipe at the end
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()


def _warn_of_errors(log: Path) -> None:
    lines = [line for line in log.read_text().splitlines() if " ERROR " in line or "Error" in line]
    for line in lines[:5]:
        print(f"    server: {line}", file=sys.stderr)
