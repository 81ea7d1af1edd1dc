"""Each upstream, asked for its models: that costs no tokens. And the secrets of tool servers."""

import asyncio
import time
from collections.abc import Iterator

from chatapp.catalogue import endpoint_of
from chatapp.doctor.report import Finding, failed, milliseconds, ok, skipped, warning
from chatapp.models import ToolServer, Upstream
from chatapp.upstream.client import UpstreamClient
from chatapp.upstream.errors import ErrorKind, UpstreamFailed
from chatapp.upstream_check.problems import problem_of_error
from chatapp.upstream_check.report import visible


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
        if error.error.kind is ErrorKind.NOT_FOUND and upstream.offered_models.split():
            return ok(name, "reachable; lists no models, and some are named in its settings")
        return failed(name, *_sentences(visible(problem_of_error(error.error), endpoint.secret)))
    finally:
        await client.aclose()
    took = milliseconds(time.monotonic() - started)
    if not models and not upstream.offered_models.split():
        return warning(
            name,
            f"lists no models ({took})",
            f"Name its models under /admin/chatapp/upstream/{upstream.pk}/change/.",
        )
    return ok(name, f"lists {len(models)} models in {took}; chat itself was not tried")


def _sentences(problem: str) -> tuple[str, str]:
    """`It refuses the key. Set … It said: …` as what was found and its cure."""
    found, _, rest = problem.partition(". ")
    cure, _, said = rest.rpartition(" It said: ")
    return f"{found}: {said}" if said else found, cure or rest
