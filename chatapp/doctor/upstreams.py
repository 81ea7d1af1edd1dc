"""Each upstream, asked for its models: that costs no tokens. And the secrets of tool servers."""

import asyncio
import time
from collections.abc import Iterator

from chatapp.catalogue import endpoint_of
from chatapp.checks.results import Finding, failed, ok, skipped, warning
from chatapp.doctor.report import milliseconds
from chatapp.models import ToolServer, Upstream
from chatapp.upstream.check.problems import problem_of_error
from chatapp.upstream.check.report import visible, visible_finding
from chatapp.upstream.client import UpstreamClient
from chatapp.upstream.wire.errors import ErrorKind, UpstreamFailed


def upstreams(has_demo: bool) -> Iterator[Finding]:
    """The enabled upstreams; `has_demo` where `serve` brings the built-in one."""
    found = list(Upstream.objects.filter(enabled=True))
    if not found:
        yield _none(has_demo)
    for upstream in found:
        if has_demo and upstream.from_environment:
            yield skipped(upstream.name, "the built-in demo, which runs within the app")
        else:
            yield asyncio.run(_asked(upstream))


def tool_servers() -> Iterator[Finding]:
    """The enabled ones whose headers or environment can't be read; none is asked or started."""
    for server in ToolServer.objects.filter(enabled=True):
        if server.secret_problem:
            yield failed(
                server.name,
                "what is stored for this tool server was encrypted with another SECRET_KEY",
                "Put the SECRET_KEY it was stored with into SECRET_KEY_FALLBACKS, or enter it "
                f"again under /admin/chatapp/toolserver/{server.pk}/change/.",
            )


def _none(has_demo: bool) -> Finding:
    if has_demo:
        return skipped("Demo", "the built-in demo answers once the app has been started")
    return warning(
        "None",
        "nobody can chat",
        "Enable or add one under /admin/chatapp/upstream/, or set OPENAI_BASE_URL.",
    )


async def _asked(upstream: Upstream) -> Finding:
    endpoint = endpoint_of(upstream)
    name = visible(upstream.name, endpoint.secret)[:16]
    if upstream.secret_problem:
        return failed(
            name,
            "its stored key was encrypted with another SECRET_KEY",
            "Put the SECRET_KEY it was stored with into SECRET_KEY_FALLBACKS, or enter the key "
            f"again under /admin/chatapp/upstream/{upstream.pk}/change/.",
        )
    client = UpstreamClient()
    started = time.monotonic()
    try:
        models = await client.list_models(endpoint)
    except UpstreamFailed as error:
        if error.error.kind is ErrorKind.NOT_FOUND and upstream.named_models:
            return ok(name, "reachable; lists no models, and some are named in its settings")
        return visible_finding(problem_of_error(error.error, name), endpoint.secret)
    finally:
        await client.aclose()
    took = milliseconds(time.monotonic() - started)
    if not models and not upstream.named_models:
        return warning(
            name,
            f"lists no models ({took})",
            f"Name its models under /admin/chatapp/upstream/{upstream.pk}/change/.",
        )
    return ok(name, f"lists {len(models)} models in {took}; chat itself was not tried")
