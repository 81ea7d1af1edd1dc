"""List each upstream's models, which costs no tokens, and check the secrets of tool servers."""

import asyncio
import time
from collections.abc import Iterator

from chatapp.catalogue import build_endpoint
from chatapp.checks.phrases import duration
from chatapp.checks.results import CheckResult, failed, ok, skipped, warning
from chatapp.models import ToolServer, Upstream
from chatapp.upstream.check.problems import problem_of_error
from chatapp.upstream.client import UpstreamClient
from chatapp.upstream.wire.errors.upstream_error import ErrorKind, UpstreamFailed


def upstreams(has_demo: bool) -> Iterator[CheckResult]:
    """Check the enabled upstreams; `has_demo` says that `serve` runs the built-in one."""
    enabled = list(Upstream.objects.filter(enabled=True))
    if not enabled:
        yield _report_no_upstreams(has_demo)
    for upstream in enabled:
        if has_demo and upstream.from_environment:
            yield skipped(upstream.name, "the built-in demo, which runs inside the app")
        else:
            yield asyncio.run(_list_models(upstream))


def tool_servers() -> Iterator[CheckResult]:
    """Report enabled tool servers whose secrets can't be decrypted, without contacting them."""
    for server in ToolServer.objects.filter(enabled=True):
        if server.secret_problem:
            yield failed(
                server.name,
                "its stored secrets were encrypted with another SECRET_KEY",
                "Put that SECRET_KEY into SECRET_KEY_FALLBACKS, or enter the secrets "
                f"again under /settings/tools/{server.pk}/.",
            )


def _report_no_upstreams(has_demo: bool) -> CheckResult:
    if has_demo:
        return skipped("Demo", "the built-in demo answers once the app has been started")
    return warning(
        "None",
        "nobody can chat",
        "Turn on or add one under /settings/models/, or set OPENAI_BASE_URL.",
    )


async def _list_models(upstream: Upstream) -> CheckResult:
    name = upstream.name[:16]
    if upstream.secret_problem:
        return failed(
            name,
            "its stored key was encrypted with another SECRET_KEY",
            "Put that SECRET_KEY into SECRET_KEY_FALLBACKS, or enter the upstream's key "
            f"again under /settings/models/{upstream.pk}/address/.",
        )
    client = UpstreamClient()
    started = time.monotonic()
    try:
        models = await client.list_models(build_endpoint(upstream))
    except UpstreamFailed as error:
        if error.error.kind is ErrorKind.NOT_FOUND and upstream.named_models:
            return ok(name, "reachable; it lists no models, but its settings name some")
        return problem_of_error(error.error, name)
    finally:
        await client.aclose()
    took = duration(time.monotonic() - started)
    if not models and not upstream.named_models:
        return warning(
            name,
            f"lists no models ({took})",
            f"Enter its models under /settings/models/{upstream.pk}/.",
        )
    return ok(name, f"lists {len(models)} models in {took}; chat was not tried")
