"""Keeps the app's transactions short: others wait for the locks that they hold.

On SQLite, nobody else can write between a transaction's first statement and its commit. So within
one the app opens no file or connection, renders nothing, hashes no password and sends no mail, and
it takes few statements and calls. Longer work is cut into steps. Every test runs under this guard,
which watches the test's own process, not the servers that it starts. Calls are counted only with
`--count-calls`, as in `make test-databases`, because that takes a quarter of a test's time.
"""

import cProfile
import inspect
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

import jinja2
import pytest
from django.contrib.auth import hashers
from django.core.files.storage import FileSystemStorage, InMemoryStorage
from django.core.mail import EmailMessage
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.transaction import Atomic, get_connection
from django.template.base import Template

STATEMENTS = 40
CALLS = 45_000  # of functions, Python's own included; some 20 ms

FILE, CONNECTION, PROGRAM = "uses a file", "connects", "starts a program"
RENDERING, HASHING, MAIL = "renders", "hashes a password", "sends mail"
EVENTS = {  # of Python's audit hooks
    "open": FILE,
    "os.listdir": FILE,
    "os.remove": FILE,
    "os.rename": FILE,
    "socket.connect": CONNECTION,
    "socket.getaddrinfo": CONNECTION,
    "subprocess.Popen": PROGRAM,
}
FUNCTIONS = (
    (jinja2.Template, "render", RENDERING),
    (Template, "render", RENDERING),
    (hashers, "get_hasher", HASHING),
    (EmailMessage, "send", MAIL),
    *(
        (storage, name, FILE)
        for storage in (FileSystemStorage, InMemoryStorage)
        for name in ("_open", "_save", "delete")
    ),
)
# Files and folders that the process reads once and keeps.
READ_ONCE = (".py", ".pyc", ".so", ".mo", "/locale", "/zoneinfo/", "/templates/", "/site-packages/")


@dataclass(frozen=True)
class Bound:
    """The limits of a transaction, and why they may be higher than usual."""

    why: str
    statements: int = STATEMENTS
    calls: int = CALLS
    may: tuple[str, ...] = ()


USUAL = Bound("")
UPGRADE = Bound("Nobody works while an installation is upgraded.", 200, 500_000, (FILE,))
REPAIR = Bound("Administrators run it from the command line.", may=(FILE,))

# By module and function.
BOUNDS = {
    "accounts.auditing.records_factors.<locals>.Recording.form_valid": Bound(
        "allauth renders the sentence that the page says next.", may=(RENDERING,)
    ),
    "erasure.people._forget": Bound(
        "An account goes as a whole. Just before, the file of erasures gets a line, so that no "
        "backup brings back who was erased, and that nobody is listed who was not.",
        200,
        150_000,
        (FILE,),
    ),
    "db.schema_editors.WithoutTriggers.__enter__": UPGRADE,
    "db.triggers.make_triggers": UPGRADE,
    "imports.importer.Importer._write_batch": Bound("It stores up to 200 messages.", 250),
    "management.migrating.one_transaction_on_sqlite": UPGRADE,
    "models.review.facets.complete": REPAIR,
    "models.search.search_entries._one_process_at_a_time": Bound(
        "On PostgreSQL, only others who index wait for its lock.", 100, 2_000_000
    ),
    "staff.review.lists.pages._plan_for_few_rows": Bound(
        "It reads, on PostgreSQL only, and nobody waits for that.", 150, 300_000
    ),
}


@dataclass
class Figures:
    """The number of runs of a transaction, and the most that it took."""

    runs: int = 0
    statements: int = 0
    calls: int = 0

    def add(self, other: "Figures") -> None:
        self.runs += other.runs
        self.statements = max(self.statements, other.statements)
        self.calls = max(self.calls, other.calls)


@dataclass
class Running:
    """A transaction that has begun and not ended."""

    name: str
    connection: BaseDatabaseWrapper
    depth: int  # of its block
    statements: int = 0
    slow: dict[str, str] = field(default_factory=dict)  # what it does that is slow, with an example
    profile: cProfile.Profile | None = None

    def begin(self) -> None:
        self.connection.execute_wrappers.append(self._execute)
        # A test that measures something by itself has a profile already.
        if calls_count and sys.getprofile() is None:
            self.profile = cProfile.Profile()
            self.profile.enable()

    def end(self) -> Figures:
        calls = 0
        if self.profile:
            self.profile.disable()
            calls = sum(entry.callcount for entry in self.profile.getstats())
        self.connection.execute_wrappers.remove(self._execute)
        return Figures(1, self.statements, calls)

    def find_faults(self, figures: Figures) -> Iterator[str]:
        bound = BOUNDS.get(self.name, USUAL)
        for what, example in self.slow.items():
            if what not in bound.may:
                yield f"{self.name} {what} in a transaction: {example}"
        if figures.statements > bound.statements:
            yield f"{self.name} takes {figures.statements} statements in a transaction"
        if figures.calls > bound.calls:
            yield f"{self.name} takes {figures.calls:,} calls in a transaction"

    def _execute(self, execute: Callable[..., Any], *arguments: Any) -> Any:
        self.statements += 1
        return execute(*arguments)


class _Thread(threading.local):
    running: Running | None = None


_thread = _Thread()
calls_count = False
_figures: dict[str, Figures] = {}
_faults: list[str] = []


@contextmanager
def keep_transactions_short(item: pytest.Item) -> Iterator[None]:
    """Fail the test if a transaction takes or does too much."""
    _figures.clear()
    _faults.clear()
    yield
    figures = {name: vars(figure) for name, figure in _figures.items()}
    item.user_properties.append(("transactions", figures))
    if faults := "\n".join(_faults):
        _faults.clear()
        pytest.fail(faults)


def lines(reports: Iterable[pytest.TestReport]) -> list[str]:
    """Return a table of the transactions that tests ran, the longest first."""
    largest: dict[str, Figures] = {}
    for report in reports:
        for name, figures in dict(report.user_properties).get("transactions", {}).items():  # type: ignore[attr-defined]
            largest.setdefault(name, Figures()).add(Figures(**figures))
    ordered = sorted(largest.items(), key=lambda item: item[1].calls, reverse=True)
    return [
        f"{'calls':>7} {'statements':>10} {'runs':>6}  transaction",
        *(f"{row.calls:7} {row.statements:10} {row.runs:6}  {name}" for name, row in ordered),
    ]


def watch(*, counts_calls: bool) -> None:
    """Watch the transactions of this process from now on."""
    global calls_count
    calls_count = counts_calls
    enter, leave = Atomic.__enter__, Atomic.__exit__

    @wraps(enter)
    def begin(atomic: Atomic) -> None:
        enter(atomic)
        if not _thread.running and (name := _find_name()):
            connection = get_connection(atomic.using)
            _thread.running = Running(name, connection, len(connection.atomic_blocks))
            _thread.running.begin()

    @wraps(leave)
    def end(atomic: Atomic, *error: Any) -> None:
        running = _thread.running
        if running and len(running.connection.atomic_blocks) == running.depth:
            _thread.running = None
            figures = running.end()
            _figures.setdefault(running.name, Figures()).add(figures)
            _faults.extend(running.find_faults(figures))
        leave(atomic, *error)

    Atomic.__enter__, Atomic.__exit__ = begin, end  # type: ignore[method-assign]
    for owner, name, what in FUNCTIONS:
        setattr(owner, name, _watch_calls(getattr(owner, name), what))
    sys.addaudithook(_notice_event)


def _find_name() -> str | None:
    """Return the name of the app's function that begins a transaction; None if a test does."""
    frame = inspect.currentframe()
    while frame:
        module, name = frame.f_globals.get("__name__", ""), frame.f_code.co_qualname
        if name == "ContextDecorator.__call__.<locals>.inner":
            function = frame.f_locals["func"]
            module, name = function.__module__, function.__qualname__
        if module.startswith("chatapp."):
            return f"{module.removeprefix('chatapp.')}.{name}"
        if module.startswith("tests.") and module != __name__:
            return None
        frame = frame.f_back
    return None


def _notice_event(event: str, arguments: tuple[Any, ...]) -> None:
    if not (_thread.running and event in EVENTS) or _imports():
        return
    example = str(arguments[0]) if arguments else event
    if not any(part in example for part in READ_ONCE):
        _thread.running.slow.setdefault(EVENTS[event], example)


def _imports() -> bool:
    """Return whether Python itself raised the event, which lists folders that have changed."""
    frame = inspect.currentframe()
    caller = frame and frame.f_back and frame.f_back.f_back
    return caller is not None and caller.f_code.co_filename.startswith("<frozen importlib")


def _watch_calls(function: Callable[..., Any], what: str) -> Callable[..., Any]:
    @wraps(function)
    def notice(*arguments: Any, **options: Any) -> Any:
        if _thread.running:
            _thread.running.slow.setdefault(what, str(arguments[0] if arguments else function))
        return function(*arguments, **options)

    return notice
