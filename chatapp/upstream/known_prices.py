"""Look up prices and context sizes of a public gateway's models in the library genai-prices.

    python -m chatapp.upstream.known_prices < {"base_url": "https://api.…", "models": ["…"]}

prints the known models as JSON, by id: prices in nano-dollars per million tokens, and the context
size in tokens. It runs in a process of its own, because the library takes a second and 70 MB to
load, too much for a process that streams. It never uses the network. Only gateways whose address
the library knows have prices: another gateway may charge differently for a model of that name.

If a price depends on the length of the prompt, the price for short prompts is used.
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
_NICENESS = 15  # nice(2): streaming processes go first


async def find_known_models(base_url: str, models: Sequence[str]) -> list[ListedModel]:
    """Return those of these models that the library knows at this address."""
    if not base_url.startswith("https://") or not models:  # the library knows only https
        return []
    request = json.dumps({"base_url": base_url, "models": list(models)}).encode()
    process = await asyncio.create_subprocess_exec(
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
            output, _ = await process.communicate(request)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return [_build_model(model, figures) for model, figures in json.loads(output or b"{}").items()]


def look_up_models(base_url: str, models: Sequence[str]) -> dict[str, dict[str, int | None]]:
    """Look the models up in this process; returns figures by model id."""
    from genai_prices.data_snapshot import get_snapshot

    figures = {}
    snapshot, now = get_snapshot(), datetime.now(UTC)
    for name in models:
        try:
            _, model = snapshot.find_provider_model(name, None, None, base_url)
        except LookupError:
            continue
        prices = model.get_prices(now)
        figures[name] = {
            "input": _nano(prices, "input_mtok"),
            "output": _nano(prices, "output_mtok"),
            "cached": _nano(prices, "cache_read_mtok"),
            "cache_write": _nano(prices, "cache_write_mtok"),
            "context_tokens": model.context_window,
        }
    return figures


def _nano(prices: object, name: str) -> int | None:
    price: Any = getattr(prices, name, None)
    dollars = getattr(price, "base", price)
    return int(dollars * NANO_DOLLARS) if isinstance(dollars, Decimal) else None


def _build_model(model: str, figures: Mapping[str, int | None]) -> ListedModel:
    read, written = figures["input"], figures["output"]
    price = None
    if read is not None and written is not None:
        price = ListedPrice(read, written, figures["cached"], figures["cache_write"])
    return ListedModel(model, context_tokens=figures["context_tokens"], price=price)


if __name__ == "__main__":
    os.nice(_NICENESS)
    request = json.load(sys.stdin)
    json.dump(look_up_models(request["base_url"], request["models"]), sys.stdout)
