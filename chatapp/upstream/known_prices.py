"""What the library genai-prices knows of the models of a public gateway, for whoever asks.

    python -m chatapp.upstream.known_prices < {"base_url": "https://api.…", "models": ["…"]}

writes the known ones as JSON, by their ids: figures for a million tokens in nano-dollars, and how
much a model reads at once. A process of its own, since the library takes a second and 70 MB to be
loaded, which no process that streams has to spare; it asks no network. Only gateways that the
library knows by their address are priced: a name alone says nothing of what another one takes.

Where a price rises with the length of the prompt, it is that of a short one.
"""

import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from chatapp.upstream.wire.model_list import ListedModel
from chatapp.upstream.wire.model_prices import NANO_DOLLARS, ListedPrice

ROOT = Path(__file__).parents[2]
SECONDS = 60.0
_BUSY = 15  # nice(2): who streams goes first


async def known_prices(base_url: str, models: Sequence[str]) -> list[ListedModel]:
    """Those of these models that the library knows at this address."""
    if not base_url.startswith("https://") or not models:  # nor does it know any other
        return []
    asked = json.dumps({"base_url": base_url, "models": list(models)}).encode()
    asking = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        __name__,
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(SECONDS):
            told, _ = await asking.communicate(asked)
    finally:
        if asking.returncode is None:
            asking.kill()
            await asking.wait()
    return [_listed(model, known) for model, known in json.loads(told or b"{}").items()]


def looked_up(base_url: str, models: Sequence[str]) -> dict[str, dict[str, int | None]]:
    """The same, in this process."""
    from genai_prices.data_snapshot import get_snapshot

    found = {}
    snapshot, now = get_snapshot(), datetime.now(UTC)
    for name in models:
        try:
            _, model = snapshot.find_provider_model(name, None, None, base_url)
        except LookupError:
            continue
        prices = model.get_prices(now)
        found[name] = {
            "input": _nano(prices, "input_mtok"),
            "output": _nano(prices, "output_mtok"),
            "cached": _nano(prices, "cache_read_mtok"),
            "cache_write": _nano(prices, "cache_write_mtok"),
            "context_tokens": model.context_window,
        }
    return found


def _nano(prices: object, name: str) -> int | None:
    price: Any = getattr(prices, name, None)
    dollars = getattr(price, "base", price)
    return int(dollars * NANO_DOLLARS) if isinstance(dollars, Decimal) else None


def _listed(model: str, known: Mapping[str, int | None]) -> ListedModel:
    read, written = known["input"], known["output"]
    price = None
    if read is not None and written is not None:
        price = ListedPrice(read, written, known["cached"], known["cache_write"])
    return ListedModel(model, context_tokens=known["context_tokens"], price=price)


if __name__ == "__main__":
    os.nice(_BUSY)
    asked = json.load(sys.stdin)
    json.dump(looked_up(asked["base_url"], asked["models"]), sys.stdout)
