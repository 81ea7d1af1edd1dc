"""Answer probes before any other middleware, for orchestrators that know only an address."""

from collections.abc import Callable

from asgiref.sync import async_to_sync
from django.http import HttpRequest, HttpResponse

from chatapp.server.probes.views import healthz, metrics, readyz

PROBES: dict[str, Callable[[HttpRequest], HttpResponse]] = {
    "/healthz": healthz,
    "/readyz": async_to_sync(readyz),
    "/metrics": async_to_sync(metrics),
}


class ProbesMiddleware:
    """Answer probes whatever the Host, without a session, a query or a redirect to https."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        probe = PROBES.get(request.path_info)
        if probe is None:
            return self._get_response(request)
        response = probe(request)
        response.headers["Content-Length"] = str(len(response.content))
        return response
