"""The recorded costs of actions, and what exceeds them."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).parent / "recorded.json"
MARGIN = 1.03
GROWN = 10  # functions that are named
MANY_CALLS = 10  # of a function that is recorded


@dataclass(frozen=True)
class Cost:
    """The cost of one action: calls and statements in all of the server's threads, bytes that the
    browser got, before compression, and messages on the bus."""

    functions: Counter[str]
    statements: int
    bytes: int
    messages: int

    @property
    def calls(self) -> int:
        return self.functions.total()

    @classmethod
    def of(cls, functions: Counter[str], received: int) -> "Cost":
        def total(*names: str) -> int:
            return sum(n for function, n in functions.items() if function.endswith(names))

        return cls(
            functions,
            sum(
                functions[f"<method '{method}' of 'sqlite3.{kind}' objects>"]
                for method in ("execute", "executemany")
                for kind in ("Connection", "Cursor")
            ),
            received,
            total("NullBus.post", "NullBus.post_to_all", "NullBus.post_to_user"),
        )

    def least(self, other: "Cost") -> "Cost":
        """Return the lower value of each figure."""
        return Cost(
            min(self.functions, other.functions, key=Counter.total),
            min(self.statements, other.statements),
            min(self.bytes, other.bytes),
            min(self.messages, other.messages),
        )

    @property
    def figures(self) -> dict[str, int]:
        names = ("calls", "statements", "bytes", "messages")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class CostRecord:
    """The figures of each action, and the calls of each function by action."""

    figures: dict[str, dict[str, int]]
    functions: dict[str, dict[str, int]]

    @classmethod
    def read(cls) -> "CostRecord":
        return cls(**json.loads(FILE.read_text()))

    def find_excesses(self, action: str, cost: Cost) -> Iterator[str]:
        """Say what is more than 3% above its record, and which functions grew most."""
        if action not in self.figures:
            yield f"{action} has no record: run make costs"
            return
        for name, value in cost.figures.items():
            recorded = self.figures[action][name]
            if value > recorded * MARGIN:
                yield f"{action}: {value:,} {name}, recorded {recorded:,}"
                if name == "calls":
                    yield from self._find_growth(action, cost.functions)

    def _find_growth(self, action: str, functions: Counter[str]) -> Iterator[str]:
        grown = Counter(
            {
                function: calls - self.functions.get(function, {}).get(action, 0)
                for function, calls in functions.items()
            }
        )
        for function, calls in grown.most_common(GROWN):
            yield f"    {calls:+,} {function}"


def record(costs: Mapping[str, Cost]) -> None:
    functions: dict[str, dict[str, int]] = {}
    for action, cost in costs.items():
        for function, calls in cost.functions.items():
            if calls >= MANY_CALLS:
                functions.setdefault(function, {})[action] = calls
    figures = {action: cost.figures for action, cost in costs.items()}
    lines = [
        *_lines("figures", figures, ","),
        *_lines("functions", dict(sorted(functions.items())), ""),
    ]
    FILE.write_text("\n".join(["{", *lines, "}"]) + "\n")


def _lines(name: str, rows: Mapping[str, object], end: str) -> Iterator[str]:
    """Yield an object of JSON with one line per row, so that a change is easy to read."""
    yield f'"{name}": {{'
    yield ",\n".join(f" {json.dumps(key)}: {json.dumps(row)}" for key, row in rows.items())
    yield f"}}{end}"
