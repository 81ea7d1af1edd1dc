"""Liveness, readiness and Prometheus metrics of this process."""

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET
from prometheus_client import REGISTRY
from prometheus_client.exposition import choose_encoder

from chatapp.metrics import database_up, layer_up
from chatapp.server.probes import readiness
from chatapp.server_interface import ViewThreads, run_in

# Probes ask about the process, so they must not wait behind pages.
PROBE_THREADS = ViewThreads("probe", 4)


@run_in(PROBE_THREADS)
@require_GET
def healthz(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok", content_type="text/plain")


@run_in(PROBE_THREADS)
@require_GET
@never_cache
async def readyz(request: HttpRequest) -> HttpResponse:
    """Answer 200 if this process can serve. Parts named by `exclude` are shown but not counted."""
    parts = await readiness.parts()
    is_ready = readiness.find_failing_parts(parts) <= set(request.GET.getlist("exclude"))
    return JsonResponse(parts, status=200 if is_ready else 503)


@run_in(PROBE_THREADS)
@require_GET
@never_cache
async def metrics(request: HttpRequest) -> HttpResponse:
    """Return the metrics to clients that send the token as a bearer token."""
    token = settings.CHATAPP_METRICS_TOKEN
    if not token:
        raise Http404("CHATAPP_METRICS_TOKEN is not set.")
    if not constant_time_compare(request.headers.get("Authorization", ""), f"Bearer {token}"):
        return HttpResponse(status=401, headers={"WWW-Authenticate": 'Bearer realm="metrics"'})
    parts = await readiness.parts()
    database_up.set(bool(parts["database"]))
    layer_up.set(parts["redis"] is not False)
    encode, content_type = choose_encoder(request.headers.get("Accept", ""))
    return HttpResponse(encode(REGISTRY), content_type=content_type)
