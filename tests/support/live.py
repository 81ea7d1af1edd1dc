"""The whole app for tests: a real `manage.py serve` in a process of its own.


    with site.server(OPENAI_BASE_URL=upstream.base_url) as server:
        ...                                # server.url answers
        server.wait_for(r"a line of its log")
    # stopped by SIGTERM; it exited with 0 and its log holds no traceback

A `Site` is prepared once: migrated, with signed-in people, static files collected. Each server
works on its own copy, in SQLite, or on the PostgreSQL server of DATABASE_URL if that is set.
REDIS_URL is passed through.
"""

import asyncio
import fcntl
import json
import os
import shutil
import socket
import sqlite3
import ssl
import struct
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
import psycopg

from tests.support.program import Program
from tests.support.shell import Shell

ROOT = Path(__file__).parents[2]
PASSWORD = "correct horse battery"
PEOPLE = 400
# Enough for plain HTTP; loading the machine's trust store takes 25 ms per client.
TRUSTS_NOBODY = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

MAKE_PEOPLE = """
import json, django
django.setup()
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.hashers import make_password
from django.contrib.sessions.backends.db import SessionStore
from django.db import transaction
from chatapp.models import User

password = make_password({password!r})
people = {{}}
with transaction.atomic():
    for name in {names!r}:
        staff = name == "olive"
        roles = dict.fromkeys(("is_staff", "is_superuser", "reviews"), staff)
        user = User(username=name, password=password, **roles)
        user.save()
        session = SessionStore()
        session[SESSION_KEY] = str(user.pk)
        session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
        session[HASH_SESSION_KEY] = user.get_session_auth_hash()
        session.save()
        people[name] = session.session_key
print(json.dumps(people))
"""


@dataclass(frozen=True)
class Person:
    """Someone with an account, and the cookie of a session that is already signed in."""

    username: str
    session: str

    @property
    def cookies(self) -> dict[str, str]:
        """Both cookie names, for http and for https: a server reads only one of them."""
        return {"sessionid": self.session, "__Host-sessionid": self.session}

    @property
    def cookie_header(self) -> str:
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())


class Site:
    """The templates that servers are copied from, and people, a new one for each caller.

    There are two template installations: one is empty, the other has signed-in people.
    """

    def __init__(self, directory: Path, database_url: str) -> None:
        self._directory = directory
        self._database_url = database_url
        self._databases: list[str] = []
        self._numbers = count(1)
        self.people: dict[str, Person] = {}

    def prepare(self, cache: Path | None = None) -> None:
        """Make the templates; on SQLite, once for all runs of the same code that share a cache."""
        if cache is None or self._database_url:
            sessions = self._make_templates(self._directory)
        else:
            sessions = self._shared_templates(cache)
        self.people = {name: Person(name, session) for name, session in sessions.items()}
        self._strangers = (person for name, person in self.people.items() if name != "olive")

    def _shared_templates(self, cache: Path) -> dict[str, str]:
        # The people's sessions expire, so the templates are made again each day.
        day = date.today().isoformat()
        folder = cache / f"{day}-{digest_code()}"
        with lock_file(cache / "lock"):
            if not (folder / "people.json").exists():
                for old in cache.iterdir():
                    if old.is_dir() and not old.name.startswith(day):
                        shutil.rmtree(old)
                shutil.rmtree(folder, ignore_errors=True)  # left by an interrupted run
                folder.mkdir()
                (folder / "people.json").write_text(json.dumps(self._make_templates(folder)))
        self._empty = {"DATA_DIR": str(folder / "empty")}
        self._peopled = {"DATA_DIR": str(folder / "peopled")}
        people: dict[str, str] = json.loads((folder / "people.json").read_text())
        return people

    def _make_templates(self, folder: Path) -> dict[str, str]:
        """Make both templates in this folder and return the session key of each person."""
        self._empty = self._database(folder / "empty")
        collected = {"DATA_DIR": str(folder / "collected")}
        Path(collected["DATA_DIR"]).mkdir(mode=0o700)
        Path(self._empty["DATA_DIR"], "static").symlink_to(folder / "collected" / "static")
        quietly = ("--noinput", "--verbosity", "0")
        with ThreadPoolExecutor(1) as beside:
            collecting = beside.submit(run, collected, "manage.py", "collectstatic", *quietly)
            run(self._empty, "manage.py", "migrate", *quietly)
            self._peopled = self._database(folder / "peopled", self._empty)
            names = ["olive"] + [f"person{number}" for number in range(PEOPLE)]
            script = MAKE_PEOPLE.format(password=PASSWORD, names=names)
            people: dict[str, str] = json.loads(run(self._peopled, "-c", script).stdout)
            collecting.result()
        return people

    def copy_schema(self, database: str | Path) -> None:
        """Make a migrated database without people: a file, or a name on the PostgreSQL server."""
        if self._database_url:
            self._administer(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)")
            template = urlsplit(self._empty["DATABASE_URL"]).path[1:]
            self._administer(f"CREATE DATABASE {database} TEMPLATE {template}")
            return
        for left in Path(database).parent.glob(f"{Path(database).name}*"):
            left.unlink()
        shutil.copy(Path(self._empty["DATA_DIR"], "chatapp.sqlite3"), database)

    @property
    def olive(self) -> Person:
        """The operator, who is an administrator."""
        return self.people["olive"]

    def person(self) -> Person:
        """Return a person without conversations who was not returned before."""
        return next(self._strangers)

    def server(self, **environment: str) -> "Server":
        """Return a server on its own copy, not started yet."""
        return Server(self.copy() | environment)

    def empty_server(self, **environment: str) -> "Server":
        """Return a server that still waits for its first account, not started yet."""
        return Server(self._make_numbered("server", self._empty) | environment)

    def copy(self, environment: dict[str, str] | None = None) -> dict[str, str]:
        """Return the environment of a new data directory and database that servers may share.

        They are copied from another installation, which no process uses, or from the template.
        """
        return self._make_numbered("server", environment or self._peopled)

    def missing_installation(self) -> dict[str, str]:
        """Return the environment of an installation that does not exist yet."""
        return self._make_numbered("nothing")

    def _make_numbered(self, name: str, template: dict[str, str] | None = None) -> dict[str, str]:
        return self._database(self._directory / f"{name}{next(self._numbers)}", template)

    def _database(self, directory: Path, template: dict[str, str] | None = None) -> dict[str, str]:
        """Make a data directory and database, empty or copied; return its environment."""
        directory.mkdir(mode=0o700)
        environment = {"DATA_DIR": str(directory)}
        if template:
            self._copy_files(Path(template["DATA_DIR"]), directory)
        if self._database_url:
            environment["DATABASE_URL"] = self._postgres_database(template)
        return environment

    def _copy_files(self, source: Path, target: Path) -> None:
        (target / "static").symlink_to((source / "static").readlink())
        for path in source.glob("chatapp.sqlite3*"):
            shutil.copy(path, target)
        if source.name != "empty":  # the secret key signs the sessions of people
            shutil.copy(source / "secret_key", target)

    def _postgres_database(self, template: dict[str, str] | None) -> str:
        name = f"chatapp_live_{uuid4().hex}"
        of = f" TEMPLATE {urlsplit(template['DATABASE_URL']).path[1:]}" if template else ""
        self._administer(f"CREATE DATABASE {name}{of}")
        self._databases.append(name)
        return urlsplit(self._database_url)._replace(path=f"/{name}").geturl()

    def drop_databases(self) -> None:
        for name in self._databases:
            self._administer(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def _administer(self, statement: str) -> None:
        with closing(psycopg.connect(self._database_url, autocommit=True)) as connection:
            connection.execute(statement.encode())


def digest_code() -> str:
    """Return a digest that changes with anything that affects the database or static files."""
    digest = sha256()
    for folder in (ROOT / "chatapp", ROOT / "static", ROOT / "requirements"):
        for file in sorted(path for path in folder.rglob("*") if path.suffix != ".pyc"):
            if file.is_file():
                digest.update(f"{file.relative_to(ROOT)}\0".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


@contextmanager
def lock_file(file: Path) -> Iterator[None]:
    """Keep other processes out until the block ends."""
    with file.open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def child_environment(environment: dict[str, str]) -> dict[str, str]:
    """Return a child's environment: what is given, Redis if there is one, and coverage."""
    inherited_names = (
        "PATH",
        "HOME",
        "LANG",
        "TMPDIR",
        "REDIS_URL",
        "COVERAGE_FILE",
        "COVERAGE_PROCESS_CONFIG",
    )
    inherited = {name: os.environ[name] for name in inherited_names if name in os.environ}
    # A test sends prompts faster than a person, and the limit on them follows from the limit on
    # tabs.
    ours = {"DJANGO_SETTINGS_MODULE": "chatapp.settings", "CHATAPP_TABS_PER_PERSON": "10000"}
    return {**inherited, **ours, **environment}


def run(
    environment: dict[str, str], *arguments: str, check: bool = True
) -> "subprocess.CompletedProcess[str]":
    """Run Python to its end in the project's directory."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=child_environment(environment),
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


def execute(environment: dict[str, str], *statements: str) -> None:
    """Change the database as a process of another version would."""
    if url := environment.get("DATABASE_URL"):
        with psycopg.connect(url) as connected:
            for statement in statements:
                connected.execute(statement.encode())
        return
    with closing(sqlite3.connect(f"{environment['DATA_DIR']}/chatapp.sqlite3")) as connected:
        connected.execute("PRAGMA foreign_keys = ON")
        for statement in statements:
            connected.execute(statement)
        connected.commit()


class Address:
    """The address of the app: a server's own, or that of a proxy in front of it."""

    url = ""
    tls: ssl.SSLContext | None = None  # what clients trust, for an https address

    @contextmanager
    def visit(self, person: Person | None = None) -> Iterator[httpx.Client]:
        """Open a client without scripts, signed in as this person."""
        cookies = person.cookies if person else None
        with httpx.Client(
            base_url=self.url, cookies=cookies, trust_env=False, verify=self.tls or TRUSTS_NOBODY
        ) as client:
            yield client


class Server(Program, Address):
    """One `manage.py serve` process."""

    ready = r"chatapp is at (\S+)"

    def __init__(self, environment: dict[str, str], *options: str) -> None:
        super().__init__()
        self.environment = environment
        self.data_dir = Path(environment["DATA_DIR"])
        self._options = options
        self._shell: Shell | None = None

    def command(self) -> list[str]:
        return [sys.executable, "manage.py", "serve", *self._options]

    def directory(self) -> str:
        return str(ROOT)

    def child_environment(self) -> dict[str, str]:
        port = {"PORT": str(urlsplit(self.url).port)} if self.url else {"PORT": "0"}
        return child_environment(port | self.environment)

    def start(self) -> Self:
        """Start it, on its previous port if it had one, and wait until it is ready."""
        self.url = self.begin_start()[1]
        return self

    def run(self, script: str) -> str:
        """Run a script against its database in another process; return what the script printed."""
        self._shell = self._shell or Shell(child_environment(self.environment))
        return self._shell.run(script)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._shell:
            self._shell.close()
            self._shell = None
        super().__exit__(kind, error, trace)

    def check_log(self) -> None:
        assert "Traceback" not in self.log, self.log


_ports_given: set[int] = set()


def free_port() -> int:
    """Return a port that nothing listens on and that this process was not given before."""
    while True:
        with closing(socket.socket()) as listener:
            listener.bind(("127.0.0.1", 0))
            port = int(listener.getsockname()[1])
        if port not in _ports_given:
            _ports_given.add(port)
            return port


def listeners(pid: int) -> set[tuple[str, int]]:
    """Return the IPv4 addresses and ports a process listens on (proc(5): /proc/pid/net/tcp)."""
    sockets = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = str(link.readlink())
        except FileNotFoundError:
            continue  # closed meanwhile
        if target.startswith("socket:["):
            sockets.add(target[8:-1])
    addresses = set()
    for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]:
        _, local, _, state, *fields = line.split()
        if state == "0A" and fields[5] in sockets:
            address, port = local.split(":")
            octets = bytes.fromhex(address)[::-1]
            addresses.add((".".join(map(str, octets)), int(port, 16)))
    return addresses


def reset(transport: asyncio.WriteTransport) -> None:
    """Abort a connection so that the peer sees a reset (RST) instead of a close."""
    with suppress(OSError):  # already closed
        transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
    transport.abort()
