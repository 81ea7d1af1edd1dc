"""What a library knows of public gateways, asked in a process of its own."""

import subprocess
import sys

import pytest

from chatapp.upstream import known_prices
from chatapp.upstream.known_prices import looked_up


@pytest.mark.server
async def test_a_public_gateways_models_are_known_by_its_address() -> None:
    found = await known_prices.known_prices(
        "https://api.openai.com/v1", ["gpt-4o", "no such model", "x" * 200, "\ud800"]
    )
    [known] = [one for one in found if one.id == "gpt-4o"]
    assert known.price
    assert known.context_tokens
    assert 0 < (known.price.cached or 0) < known.price.input < known.price.output
    assert len(found) == 1


def test_a_name_alone_says_nothing_of_what_another_gateway_takes() -> None:
    assert looked_up("https://gateway.test/v1", ["gpt-4o"]) == {}


WITHOUT_NETWORK = """
import sys

def refuse(event, arguments):
    if event.startswith("socket."):
        sys.exit(f"{event}{arguments}")

sys.addaudithook(refuse)
from chatapp.upstream.known_prices import looked_up
print(*looked_up("https://api.openai.com/v1", ["gpt-4o"]))
"""


@pytest.mark.server
def test_the_library_asks_no_network() -> None:
    asking = [sys.executable, "-c", WITHOUT_NETWORK]
    done = subprocess.run(
        asking, cwd=known_prices.ROOT, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr, done.returncode) == ("gpt-4o\n", "", 0)


@pytest.mark.parametrize("base_url", ["http://api.openai.com/v1", "http://127.0.0.1:4000/v1"])
async def test_no_process_is_started_for_an_address_that_no_public_gateway_has(
    base_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "no such program")
    assert await known_prices.known_prices(base_url, ["gpt-4o"]) == []
