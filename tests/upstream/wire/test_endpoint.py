"""An endpoint builds the addresses, headers and bodies of requests."""

import pytest

from chatapp.upstream.wire.requests.dialects import NO_OPTIONS, OPENTOKEN
from chatapp.upstream.wire.requests.endpoint import Endpoint

KEY = "sk-a-secret-key"


@pytest.mark.parametrize("base_url", ["http://host/v1", "http://host/v1/", " http://host/v1// "])
def test_a_path_is_appended_to_the_base_url(base_url: str) -> None:
    assert Endpoint(base_url).url("models") == "http://host/v1/models"


@pytest.mark.parametrize(
    ("key", "headers"),
    [(f" {KEY}\n", {b"Authorization": b"Bearer sk-a-secret-key"}), ("", {}), (" ", {})],
)
def test_a_key_is_sent_as_a_bearer_token(key: str, headers: dict[bytes, bytes]) -> None:
    endpoint = Endpoint("http://host/v1", key)
    assert endpoint.headers() == headers
    assert KEY not in repr(endpoint)


def test_usage_is_requested_unless_it_always_comes_or_was_rejected() -> None:
    plain = Endpoint("http://host/v1")
    refusing = Endpoint("http://host/v1", takes_usage_option=False)
    reporting = Endpoint("http://host/v1", dialect=OPENTOKEN)
    for endpoint in (plain, refusing, reporting):
        asks = "stream_options" in endpoint.request_body("m", [], NO_OPTIONS)
        assert asks is endpoint.asks_for_usage is (endpoint is plain)
