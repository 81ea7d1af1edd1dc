"""Scripts for a whole check, and its results.

A check sends requests in this order: the list of models, a count, a greeting without
`stream_options`, a tool call, a wrong model, a wrong key, a reply that is closed halfway, a
greeting, and the same greeting with the clock offered.
"""

from collections.abc import AsyncIterable, Callable

from chatapp.checks.results import CheckResult, CheckStep
from chatapp.tools import CLOCK
from chatapp.upstream.check import check
from chatapp.upstream.wire.requests.endpoint import Endpoint
from tests.support.fake_upstream import FakeUpstream, Stall, Step, delta, done, finish
from tests.upstream import RECORDINGS

KEY = "sk-very-secret"
PLAIN = (delta("Hello"), finish(), done())
CALL = (RECORDINGS / "aivene_tools.sse").read_bytes()
NO_MODEL = {"error": {"message": "no such model", "type": "invalid_request_error", "code": None}}
NO_KEY = {"error": {"message": "wrong key"}}
REFUSED = "stream_options is not supported"


def read_recording(name: str) -> bytes:
    return (RECORDINGS / f"{name}.sse").read_bytes()


def serve(
    upstream: FakeUpstream,
    counted: tuple[Step, ...],
    greeted: tuple[Step, ...] = PLAIN,
    tools: Callable[[], None] | None = None,
) -> None:
    """Script the chat requests of one check up to the closed reply."""
    upstream.script(*counted)
    upstream.script(*greeted)
    if tools:
        tools()
    else:
        upstream.script(CALL)
    upstream.fail(404, NO_MODEL)
    upstream.fail(401, NO_KEY)
    upstream.script(delta("1"), Stall())


async def report_on(upstream: FakeUpstream, model: str = "") -> tuple[str, dict[str, CheckResult]]:
    """Check the upstream. Return why it can't serve the app, if so, and the results."""
    return await collect(check(Endpoint(upstream.base_url, KEY), model, CLOCK.as_request()))


async def collect(steps: AsyncIterable[CheckStep]) -> tuple[str, dict[str, CheckResult]]:
    results = [step async for step in steps if isinstance(step, CheckResult)]
    problem = " ".join(result.sentences for result in results if result.has_failed)
    return problem, {result.what: result for result in results}
