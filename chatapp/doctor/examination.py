"""The whole examination: every check in its order, one finding at a time.

What takes long only because it waits comes last; the quiet socket is opened before the other checks
of the public URL, so that its time passes meanwhile.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from urllib.parse import urlsplit

from channels.layers import get_channel_layer
from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage

from chatapp import environment
from chatapp.checks.results import Finding, Verdict, skipped
from chatapp.doctor import (
    buffering,
    database,
    forwarding,
    identities,
    layer,
    machine,
    pages,
    public,
    settings_checks,
    tls,
    upstreams,
    websocket,
)
from chatapp.models.connections import unpooled_connection

LOCK_SECONDS = 5.0  # that SQLite's lock is waited for
IDLE_SECONDS = 75.0  # longer than the minute after which most proxies close what is silent

Progress = Callable[[float], None]


@dataclass(frozen=True)
class Title:
    """What the findings that follow are about."""

    text: str


def examine(
    url: str = "",
    idle_seconds: float = IDLE_SECONDS,
    layer_idle_seconds: float = layer.IDLE_SECONDS,
    progress: Progress = lambda left: None,
) -> Iterator[Title | Finding]:
    """Look at this installation and, where `url` is given, at what lies before it.

    `progress` is told how many seconds are left while nothing can be done but wait.
    """
    yield Title("Settings")
    yield from _settings(url)
    yield Title("Database")
    yield from database.database(unpooled_connection(settings.DATABASES, LOCK_SECONDS))
    yield Title("Messages between processes")
    has_redis = False
    for finding in layer.redis_server(settings.REDIS_URL):
        has_redis |= finding.verdict in (Verdict.OK, Verdict.WARNING)
        yield finding
    yield Title("This machine")
    yield from machine.disk(settings.DATA_DIR)
    yield from machine.data_dir(settings.DATA_DIR)
    yield from machine.static_files(staticfiles_storage, settings.STATIC_ROOT)
    yield Title("Upstreams (asked for their models, which costs nothing)")
    yield from _upstreams()
    yield Title("The organisation's sign-in")
    yield from _identities()
    with ExitStack() as stack:
        yield Title(f"Public address{f': {url}' if url else ''}")
        quiet = None
        if url:
            quiet = yield from _public(url, idle_seconds, stack)
        else:
            yield skipped("Not asked for", "no address is given", "Add --url https://your.host")
        if has_redis or quiet:
            yield Title("With patience")
        if has_redis:
            yield from layer.message_after_idling(get_channel_layer(), layer_idle_seconds)
        if quiet:
            yield quiet.wait(progress)


def _settings(url: str) -> Iterator[Finding]:
    key = environment.text("SECRET_KEY")
    yield from settings_checks.debug()
    yield from settings_checks.hosts(url)
    yield from settings_checks.origins(url)
    yield from settings_checks.secret_key(settings.DATA_DIR / "secret_key", key)
    yield from settings_checks.trusted_proxies()
    yield from settings_checks.body_limit()
    yield from settings_checks.old_keys(settings.SECRET_KEY_FALLBACKS)
    yield from settings_checks.metrics_token(getattr(settings, "CHATAPP_METRICS_TOKEN", ""))
    yield from settings_checks.processes()
    yield from settings_checks.django_checks()


def _upstreams() -> Iterator[Finding]:
    if database.is_usable(unpooled_connection(settings.DATABASES)):
        yield from upstreams.upstreams(has_demo=not settings.OPENAI_BASE_URL)
        yield from upstreams.tool_servers()
    else:
        yield skipped("All", "they are kept in the database, which can't be used")


def _identities() -> Iterator[Finding]:
    if database.is_usable(unpooled_connection(settings.DATABASES)):
        yield from identities.identities()
    else:
        yield skipped("All", "people are kept in the database, which can't be used")


def _public(
    url: str, idle_seconds: float, stack: ExitStack
) -> Generator[Finding, None, websocket.QuietSocket | None]:
    yield from tls.certificate(url)
    outside = stack.enter_context(public.Public(url))
    is_there = True
    for finding in public.answers(outside):
        is_there &= finding.verdict is not Verdict.FAILED
        yield finding
    if not is_there:
        yield skipped("All else", "nothing answers there as the app does")
        return None
    if outside.is_https:
        yield from tls.redirect(_plain(url), outside.origin)
    yield from pages.page_headers(outside)
    seen = forwarding.sight(outside)
    if isinstance(seen, Finding):
        yield seen
        yield skipped("All else", "the app there does not answer the doctor")
        return None
    yield from forwarding.judged(outside, seen)
    opens = False
    for finding in websocket.upgrade(outside):
        opens |= finding.verdict is Verdict.OK
        yield finding
    quiet = stack.enter_context(websocket.QuietSocket(outside, idle_seconds)) if opens else None
    yield from public.body_size(outside)
    yield from buffering.http_buffering(outside)
    if quiet is None:
        yield skipped(
            "Streaming", "no WebSocket opens, so neither this nor long prompts and idling"
        )
        return None
    yield from websocket.socket_buffering(outside)
    yield from websocket.prompt_size(outside)
    return quiet


def _plain(url: str) -> str:
    """The same host over http, where the address is that of the usual port."""
    parts = urlsplit(url)
    return f"http://{parts.netloc}/" if parts.port in (None, 443) and parts.hostname else ""
