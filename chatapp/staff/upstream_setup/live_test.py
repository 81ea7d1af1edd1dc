"""The page of a test that runs: its rows are sent one by one, as the test finds them.

The page is one response, so it needs no script, and leaving it or stopping its loading cancels the
test. The test runs in the event loop and keeps no thread waiting.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.safestring import mark_safe

from chatapp import tools
from chatapp.catalogue import endpoint_of
from chatapp.checks.results import CheckResult
from chatapp.models import Upstream
from chatapp.staff.upstream_setup.correction import corrected
from chatapp.upstream.check import Report, check, model_for_chat, row_of

# Places in the page. The texts of others are escaped, so they can't contain one.
ROWS, VERDICT = mark_safe("<!-- rows -->"), mark_safe("<!-- verdict -->")


def page_of_test(request: HttpRequest, upstream: Upstream, model: str) -> AsyncIterator[str]:
    """Return the parts of the page of a test that runs while they are sent.

    The test asks `model`, or one of the upstream. The page reads the database, so it is rendered
    here and not in the event loop.
    """
    context = {"upstream": upstream, "is_running": True, "rows": ROWS, "verdict": VERDICT}
    page = render_to_string("upstream_setup/test.html", context, request)
    return _parts_of(page, request, upstream, model)


async def _parts_of(
    page: str, request: HttpRequest, upstream: Upstream, model: str
) -> AsyncIterator[str]:
    before, _, rest = page.partition(ROWS)
    between, _, after = rest.partition(VERDICT)
    yield before
    found: asyncio.Queue[CheckResult | None] = asyncio.Queue()
    testing = asyncio.create_task(_test(upstream, model, found))
    try:
        while result := await found.get():
            yield render_to_string("upstream_setup/_row.html", {"row": row_of(result)})
        report = await testing
        if report.can_serve:
            await Upstream.objects.filter(pk=upstream.pk).aupdate(connected_at=timezone.now())
    finally:
        testing.cancel()
        with suppress(asyncio.CancelledError):
            await testing
    yield between
    context = {
        "upstream": upstream,
        "report": report,
        "corrected": corrected(upstream, report.failed_with),
        "asks_model": not report.can_serve and not upstream.named_models,
    }
    yield render_to_string("upstream_setup/_verdict.html", context, request)
    yield after


async def _test(
    upstream: Upstream, model: str, found: "asyncio.Queue[CheckResult | None]"
) -> Report:
    model = model or model_for_chat(list(upstream.named_models))
    clock = tools.CLOCK.as_request()
    try:
        return await check(endpoint_of(upstream), model, clock, found=found.put_nowait)
    finally:
        found.put_nowait(None)
