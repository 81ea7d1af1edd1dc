"""Pages that caches keep."""

from chatapp.checks.results import Status
from chatapp.doctor import pages
from tests.doctor import through
from tests.doctor.relay import Relay, dropping, saying
from tests.support.live import Server


def test_a_caching_proxy_is_found(server: Server) -> None:
    cached = Relay(server.url, tell=saying("Age", "17"))
    assert through(cached, pages.page_headers).found == "pages come from a cache (header: age)"
    stripped = Relay(server.url, tell=dropping("Cache-Control"))
    assert through(stripped, pages.page_headers).status is Status.FAILED
