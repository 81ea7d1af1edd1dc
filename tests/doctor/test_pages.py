"""Pages that caches keep."""

from chatapp.checks.results import Status
from chatapp.doctor import pages
from tests.doctor import through
from tests.doctor.relay import Relay, drop_header, set_header
from tests.support.live import Server


def test_a_caching_proxy_is_found(server: Server) -> None:
    cached = Relay(server.url, tell=set_header("Age", "17"))
    assert through(cached, pages.page_headers).finding == "pages come from a cache (header: age)"
    stripped = Relay(server.url, tell=drop_header("Cache-Control"))
    assert through(stripped, pages.page_headers).status is Status.FAILED
