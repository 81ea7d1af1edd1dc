"""The whole examination: runs all checks in order and yields their results one at a time.

Checks that have to wait come last. The quiet socket is opened before the other checks of the public
URL, so that it is idle while they run.
"""

from collections.abc import Generator, Iterator
from contextlib import ExitStack
from urllib.parse import urlsplit

from channels.layers import get_channel_layer
from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage

from chatapp import environment
from chatapp.checks.results import CheckResult, CheckStep, Heading, Status, skipped
from chatapp.db.connections import unpooled_connection
from chatapp.doctor import (
    buffering,
    database,
    files,
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

LOCK_SECONDS = 5.0  # to wait for SQLite's lock
IDLE_SECONDS = 75.0  # most proxies close idle connections after a minute


def examine(
    url: str = "",
    idle_seconds: float = IDLE_SECONDS,
    layer_idle_seconds: float = layer.IDLE_SECONDS,
) -> Iterator[CheckStep]:
    """Check this installation and, if `url` is given, the way to it from outside."""
    yield Heading("Settings")
    yield from _settings(url)
    yield Heading("Database")
    yield from database.database(unpooled_connection(settings.DATABASES, LOCK_SECONDS))
    yield Heading("Messages between processes")
    has_redis = False
    for result in layer.redis_server(settings.REDIS_URL):
        has_redis |= result.status in (Status.OK, Status.WARNING)
        yield result
    yield Heading("This machine")
    yield from machine.disk(settings.DATA_DIR)
    yield from machine.data_dir(settings.DATA_DIR)
    yield from machine.static_files(staticfiles_storage, settings.STATIC_ROOT)
    if database.is_usable(unpooled_connection(settings.DATABASES)):
        yield from files.stored_files()
        yield from files.sandbox()
    yield Heading("Upstreams (listing their models, which costs nothing)")
    yield from _upstreams()
    yield Heading("The organisation's sign-in")
    yield from _identities()
    with ExitStack() as stack:
        yield Heading(f"Public address{f': {url}' if url else ''}")
        quiet = None
        if url:
            quiet = yield from _public(url, idle_seconds, stack)
        else:
            yield skipped("Not checked", "no address was given", "Add --url https://your.host")
        if has_redis or quiet:
            wait_seconds = idle_seconds if quiet else layer_idle_seconds
            yield Heading(f"Idle connections (takes up to {wait_seconds:g} s)")
        if has_redis:
            yield from layer.message_after_idling(get_channel_layer(), layer_idle_seconds)
        if quiet:
            yield quiet.wait()


def _settings(url: str) -> Iterator[CheckResult]:
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


def _upstreams() -> Iterator[CheckResult]:
    if database.is_usable(unpooled_connection(settings.DATABASES)):
        yield from upstreams.upstreams(has_demo=not settings.OPENAI_BASE_URL)
        yield from upstreams.tool_servers()
    else:
        yield skipped("All", "they are stored in the database, which can't be used")


def _identities() -> Iterator[CheckResult]:
    if database.is_usable(unpooled_connection(settings.DATABASES)):
        yield from identities.identities()
    else:
        yield skipped("All", "people are stored in the database, which can't be used")


def _public(
    url: str, idle_seconds: float, stack: ExitStack
) -> Generator[CheckResult, None, websocket.QuietSocket | None]:
    yield from tls.certificate(url)
    outside = stack.enter_context(public.Public(url))
    answers = True
    for result in public.answers(outside):
        answers &= not result.has_failed
        yield result
    if not answers:
        yield skipped("Other checks", "the app does not answer at this address")
        return None
    if outside.is_https:
        yield from tls.redirect(_plain(url), outside.origin)
    yield from pages.page_headers(outside)
    seen = forwarding.fetch_seen_request(outside)
    if isinstance(seen, CheckResult):
        yield seen
        yield skipped("Other checks", "the app there does not answer the doctor")
        return None
    yield from forwarding.check_forwarding(outside, seen)
    opens = False
    for result in websocket.upgrade(outside):
        opens |= result.status is Status.OK
        yield result
    quiet = stack.enter_context(websocket.QuietSocket(outside, idle_seconds)) if opens else None
    yield from public.body_size(outside)
    yield from buffering.http_buffering(outside)
    if quiet is None:
        yield skipped(
            "Streaming", "no WebSocket opens; long prompts and idling aren't checked either"
        )
        return None
    yield from websocket.socket_buffering(outside)
    yield from websocket.prompt_size(outside)
    return quiet


def _plain(url: str) -> str:
    """Return the URL of the same host over http, or "" if the address has an unusual port."""
    parts = urlsplit(url)
    return f"http://{parts.netloc}/" if parts.port in (None, 443) and parts.hostname else ""
