"""The cast: Alice and Bob chat, Olive is the administrator; one scripted upstream answers."""

import gc
import os
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path

import pytest
from asgiref.sync import SyncToAsync, sync_to_async
from django.conf import settings
from django.core.cache import cache
from django.core.files.storage import InMemoryStorage, Storage
from django.core.management.commands import flush
from django.db import connection, connections
from django.test import AsyncClient, Client
from django.test.utils import setup_databases, teardown_databases
from pytest_django import DjangoDbBlocker, Settings

from bench import machine
from chatapp.models import Upstream, User
from chatapp.models.billing import prices
from chatapp.models.files import storage
from chatapp.models.platform import branding
from chatapp.realtime.generation import retries, storing
from chatapp.realtime.worker import shut_down
from chatapp.sessions.rate_limits import allowances
from tests.support import emptied, kinds, profile, sessions, timings, transactions
from tests.support.certificates import Authority
from tests.support.clock import clock, one_minute  # noqa: F401 - fixtures
from tests.support.fake_upstream import FakeUpstream
from tests.support.live import Site
from tests.support.tab import Tab

PASSWORD = "correct horse battery"
LONGEST = 10  # transactions that are listed after the tests


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    is_ignored = config.option.markexpr == "pure" and kinds.is_never_pure(collection_path)
    return True if is_ignored else None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--transactions", action="store_true", help="list all transactions, not only the longest"
    )
    parser.addoption(
        "--record-seconds", action="store_true", help="record the seconds of a whole run"
    )
    parser.addoption(
        "--count-calls", action="store_true", help="hold transactions under a bound of calls, too"
    )


loop_seconds = pytest.StashKey[float]()


def pytest_sessionstart(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput") and is_whole(session.config):  # still idle
        session.config.stash[loop_seconds] = machine.loop_seconds()


@pytest.hookimpl(wrapper=True)  # marks before -m deselects, and sorts after pytest-django
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None]:
    for item in items:
        kinds.mark(item)
    profile.deselect_thorough(config, items)
    yield
    # Idle workers take over another's last tests, and would start a browser and servers for these.
    items.sort(key=lambda item: item.get_closest_marker("browser") is None)


def pytest_collection_finish() -> None:
    """Spare the garbage collector ten thousand tests."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print how long each folder and each kind of test took, and the longest transactions."""
    reports = [
        report
        for category in ("", "passed", "failed", "error", "skipped")
        for report in terminalreporter.getreports(category)
        if isinstance(report, pytest.TestReport)
    ]
    terminalreporter.section("seconds, set-up and tear-down included")
    for title, timings_of in (("folder", timings.by_folder), ("kind", timings.by_kind)):
        for line in timings.lines(title, timings_of(reports)):
            terminalreporter.write_line(line)
    if is_whole(config):
        taken = timings.build_record(reports, config.stash[loop_seconds])
        if config.option.record_seconds:
            timings.write_record(taken)
        for excess in timings.excesses(taken, timings.load_record()):
            terminalreporter.write_line(excess, red=True)
    terminalreporter.section("transactions")
    max_lines = None if config.option.transactions else LONGEST + 1
    for line in transactions.lines(reports)[:max_lines]:
        terminalreporter.write_line(line)


def is_whole(config: pytest.Config) -> bool:
    """Return whether a run is what `make test` runs."""
    is_all = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    option = config.option
    return is_all and not (option.markexpr or option.keyword or option.lf or profile.THOROUGH)


@pytest.fixture(scope="session")
def templates(
    tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Iterator[Site]:
    """The site from which servers and the tests' own database are copied."""
    site = Site(tmp_path_factory.mktemp("site"), os.environ.get("DATABASE_URL", ""))
    cache: pytest.Cache | None = getattr(pytestconfig, "cache", None)  # off by an option of pytest
    try:
        site.prepare(cache.mkdir("site") if cache else None)
        yield site
    finally:
        site.drop_databases()


@pytest.fixture(scope="session")
def site(templates: Site) -> Site:
    """The site of tests that start servers."""
    return templates


@pytest.fixture(scope="session")
def django_db_setup(
    templates: Site,
    django_test_environment: None,
    django_db_modify_db_settings: None,
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[None]:
    """Copy a migrated database, which is much faster than migrating one."""
    database = connection.settings_dict
    templates.copy_schema(database["TEST"]["NAME"] or f"test_{database['NAME']}")
    with django_db_blocker.unblock():
        created = setup_databases(verbosity=0, interactive=False, keepdb=True)
    yield
    # The threads of asynchronous queries must close their connections before it is dropped.
    for thread in (SyncToAsync.single_thread_executor, storing.thread):
        thread.submit(connections.close_all).result()
    with django_db_blocker.unblock():
        teardown_databases(created, verbosity=0)


@pytest.fixture(scope="session", autouse=True)
def suited_to_tests(
    monkeypatch_session: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
    pytestconfig: pytest.Config,
) -> None:
    """Replace what would be slow in tests or would touch files outside of this test process."""
    transactions.watch(counts_calls=pytestconfig.option.count_calls)
    monkeypatch_session.setattr(flush, "sql_flush", emptied.empty)
    monkeypatch_session.setattr(settings, "DATA_DIR", tmp_path_factory.mktemp("data"))
    # Each upstream client would load the machine's hundred certificate authorities, in 25 ms.
    authority = Authority(tmp_path_factory.mktemp("authority"))
    monkeypatch_session.setenv("SSL_CERT_FILE", str(authority.file))


@pytest.fixture(scope="session")
def monkeypatch_session() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture
def upstream() -> Iterator[FakeUpstream]:
    with FakeUpstream() as upstream:
        yield upstream


@pytest.fixture
def saved_upstream(upstream: FakeUpstream, db: None) -> Upstream:
    """The upstream's record."""
    return Upstream.objects.create(
        name="Fake", base_url=upstream.base_url, api_key="sk-very-secret"
    )


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Storage:
    """A storage of files that is empty before the test."""
    disk = InMemoryStorage()
    monkeypatch.setattr(storage, "backend", lambda: disk)
    return disk


@pytest.fixture
def alice(db: None) -> User:
    return User.objects.create_user("alice", password=PASSWORD)


@pytest.fixture
def bob(db: None) -> User:
    return User.objects.create_user("bob", password=PASSWORD)


@pytest.fixture
def olive(db: None) -> User:
    return User.objects.create_superuser("olive", password=PASSWORD)


@pytest.fixture
def alices(alice: User) -> Client:
    """Alice's browser, signed in."""
    return signed_in(alice)


@pytest.fixture
def bobs(bob: User) -> Client:
    return signed_in(bob)


@pytest.fixture
def olives(olive: User) -> Client:
    """Olive's browser, which has just confirmed her password."""
    return signed_in(olive, confirmed=True)


def signed_in(user: User, *, confirmed: bool = False) -> Client:
    client = Client(headers={"host": "localhost"})
    sessions.sign_in(client, user, confirmed=confirmed)
    return client


def confirm_password(client: Client) -> Client:
    """Confirm the password, as sensitive changes require, and return the client."""
    sessions.confirm_password(client)
    return client


@pytest.fixture(autouse=True)
def clean_slate(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Reset process and Redis state left by the previous test, and guard pure tests."""
    prices.clear_cache()
    branding.set_branding(branding.Branding())
    branding.postpone_refresh()
    allowances.clear()
    if settings.REDIS_URL:
        cache.clear()
    # Without a Retry-After header, retry at once.
    monkeypatch.setattr(retries, "backoff", lambda _failures: 0.0)
    with kinds.enforce_purity(request.node), transactions.keep_transactions_short(request.node):
        yield


@pytest.fixture
async def generations_end() -> AsyncIterator[None]:
    """End all replies that are still running after the test."""
    yield
    await shut_down(0)


@pytest.fixture
async def tab(
    alices: Client, saved_upstream: Upstream, generations_end: None, settings: Settings
) -> AsyncIterator[Tab]:
    """A tab of Alice's on a new chat; both graces are 0."""
    settings.CHATAPP_CLOSE_GRACE = settings.CHATAPP_DROP_GRACE = 0.0
    async with Tab(alices) as tab:
        yield tab


@pytest.fixture
async def connections_close() -> AsyncIterator[None]:
    """Close the connection that Django's test client leaves open in the views' thread."""
    yield
    await sync_to_async(connections.close_all)()


@pytest.fixture
def anyone(db: None, generations_end: None, connections_close: None) -> AsyncClient:
    """A client that is not signed in."""
    return AsyncClient(headers={"host": "localhost"})
