"""Prices of public gateways from a library, looked up in a separate process."""

import subprocess
import sys

import pytest

from chatapp.upstream import known_prices
from chatapp.upstream.known_prices import look_up_models


@pytest.mark.server
async def test_models_of_a_public_gateway_are_found_by_its_address() -> None:
    models = await known_prices.find_known_models(
        "https://api.openai.com/v1", ["gpt-4o", "no such model", "x" * 200, "\ud800"]
    )
    [priced_model] = [model for model in models if model.id == "gpt-4o"]
    assert priced_model.price
    assert priced_model.context_tokens
    assert (
        0 < (priced_model.price.cached or 0) < priced_model.price.input < priced_model.price.output
    )
    assert len(models) == 1


def test_a_model_name_at_an_unknown_gateway_has_no_price() -> None:
    assert look_up_models("https://gateway.test/v1", ["gpt-4o"]) == {}


WITHOUT_NETWORK = """
import sys

def refuse(event, arguments):
    if event.startswith("socket."):
        sys.exit(f"{event}{arguments}")

sys.addaudithook(refuse)
from chatapp.upstream.known_prices import look_up_models
print(*look_up_models("https://api.openai.com/v1", ["gpt-4o"]))
"""


@pytest.mark.server
def test_the_library_does_not_use_the_network() -> None:
    command = [sys.executable, "-c", WITHOUT_NETWORK]
    done = subprocess.run(
        command, cwd=known_prices.ROOT, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr, done.returncode) == ("gpt-4o\n", "", 0)


@pytest.mark.parametrize("base_url", ["http://api.openai.com/v1", "http://127.0.0.1:4000/v1"])
async def test_no_process_is_started_for_an_address_without_https(
    base_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "no such program")
    assert await known_prices.find_known_models(base_url, ["gpt-4o"]) == []
