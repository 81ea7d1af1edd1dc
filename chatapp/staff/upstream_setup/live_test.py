"""The page of a test that runs: its rows are sent one by one, as the test finds them.

The page is one response, so it needs no script, and leaving it or stopping its loading cancels the
test. The test runs in the event loop and keeps no thread waiting.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.safestring import mark_safe

from chatapp import tools
from chatapp.catalogue import build_endpoint
from chatapp.checks.results import CheckResult
from chatapp.models import Upstream
from chatapp.staff.upstream_setup.correction import suggest_address
from chatapp.upstream.check import check, model_for_chat

# Places in the page. The texts of others are escaped, so they can't contain one.
ROWS, VERDICT = mark_safe("<!-- rows -->"), mark_safe("<!-- verdict -->")


def stream_test_page(request: HttpRequest, upstream: Upstream, model: str) -> AsyncIterator[str]:
    """Return the parts of the page of a test that runs while they are sent.

    The test asks `model`, or one of the upstream. The page reads the database, so it is rendered
    here and not in the event loop.
    """
    context = {"upstream": upstream, "is_running": True, "rows": ROWS, "verdict": VERDICT}
    page = render_to_string("upstream_setup/test.html", context, request)
    return _stream_parts(page, request, upstream, model)


async def _stream_parts(
    page: str, request: HttpRequest, upstream: Upstream, model: str
) -> AsyncIterator[str]:
    before, _, remainder = page.partition(ROWS)
    between, _, after = remainder.partition(VERDICT)
    yield before
    failure = None
    async with aclosing(_check(upstream, model)) as results:
        async for result in results:
            yield render_to_string("upstream_setup/_row.html", {"result": result})
            failure = result if result.has_failed else failure
    if not failure:
        await Upstream.objects.filter(pk=upstream.pk).aupdate(connected_at=timezone.now())
    yield between
    context = {
        "upstream": upstream,
        "failure": failure,
        "corrected": suggest_address(upstream, failure.cause if failure else ""),
        "asks_model": failure and not upstream.named_models,
    }
    yield render_to_string("upstream_setup/_verdict.html", context, request)
    yield after


async def _check(upstream: Upstream, model: str) -> AsyncGenerator[CheckResult]:
    """Check the upstream with a few short prompts, which takes up to a minute."""
    model = model or model_for_chat(list(upstream.named_models))
    steps = check(build_endpoint(upstream), model, tools.CLOCK.as_request())
    async with aclosing(steps):
        async for step in steps:
            if isinstance(step, CheckResult):
                yield step
