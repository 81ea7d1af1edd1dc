"""Collect what must be sent back with tool calls: signatures, encrypted reasoning.

These fields are opaque: never read or changed. Gateways put them next to the call or the text under
their own names, and answer 400 to a request without them.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

MAX_BYTES = 1024 * 1024  # of JSON, per choice

_TEXTS = {"reasoning.text": "text", "reasoning.summary": "summary"}


@dataclass(slots=True)
class OpaqueReader:
    """Collects the opaque fields of one choice's deltas; `build_message_fields` joins them."""

    has_more: bool = False  # since the last call of `build_message_fields`
    _parts: dict[str, list[Any]] = field(default_factory=dict)
    _too_large: set[str] = field(default_factory=set)
    _size: int = 0

    def read(self, fields: Mapping[str, object], left_out: list[str]) -> None:
        """Add the fields of one delta. A field that grows too large is left out entirely."""
        for name, value in fields.items():
            if not value or name in self._too_large:
                continue
            size = measure_json(value)
            if size is None or self._size + size > MAX_BYTES:
                left_out.append(name)
                self._too_large.add(name)
                self._parts.pop(name, None)
                continue
            self._size += size
            self._parts.setdefault(name, []).append(value)
            self.has_more = True

    def build_message_fields(self) -> dict[str, object]:
        """Return the fields for an assistant message."""
        self.has_more = False
        fields = {name: _JOINERS[name](parts) for name, parts in self._parts.items()}
        return {name: value for name, value in fields.items() if value}


def measure_json(value: object) -> int | None:
    """Return a value's size as JSON in bytes; None if it can't be stored (it contains NUL)."""
    try:
        text = msgspec.json.encode(value)
    except (RecursionError, UnicodeEncodeError):
        return None
    return None if b"\\u0000" in text else len(text)


def _join_details(parts: list[Any]) -> list[dict[str, Any]]:
    """Join OpenRouter's: text pieces by their index; encrypted ones stay unchanged."""
    blocks = _Blocks()
    for detail in _objects(parts):
        kind, index = str(detail.get("type")), detail.get("index")
        text = _TEXTS.get(kind)
        block = blocks.find(kind, index) if text else None
        if text and block is not None:
            blocks.extend(block, detail, text)
        else:
            blocks.add(detail, kind, index)
    return blocks.build_blocks()


def _join_thinking(parts: list[Any]) -> list[dict[str, Any]]:
    """Join LiteLLM's: a block grows until its signature comes, maybe in a delta of its own."""
    blocks = _Blocks()
    for block in _objects(parts):
        last = blocks.last or {}
        is_open = last.get("type") == "thinking" and not last.get("signature")
        if is_open and block.get("type") == "thinking":
            blocks.extend(last, block, "thinking")
        else:
            blocks.add(block)
    return blocks.build_blocks()


def _join_fields(parts: list[Any]) -> dict[str, object]:
    """Join LiteLLM's: lists are concatenated, other values replaced by later ones."""
    joined: dict[str, object] = {}
    for fields in parts:
        if not isinstance(fields, dict):
            continue
        for name, value in fields.items():
            earlier = joined.get(name)
            if isinstance(value, list) and isinstance(earlier, list):
                earlier += value
            elif value is not None:
                joined[name] = [*value] if isinstance(value, list) else value
    return joined


def _take_last(parts: list[Any]) -> object:
    """Take GitHub Copilot's, which comes in one piece."""
    return parts[-1]


_JOINERS: Mapping[str, Callable[[list[Any]], object]] = {
    "reasoning_details": _join_details,
    "thinking_blocks": _join_thinking,
    "provider_specific_fields": _join_fields,
    "reasoning_opaque": _take_last,
}


class _Blocks:
    """Objects in order; pieces of their texts are collected and joined at the end."""

    def __init__(self) -> None:
        self._blocks: list[dict[str, Any]] = []
        self._texts: dict[int, tuple[str, list[str]]] = {}  # by the id of their block
        self._by_key: dict[tuple[str, object], dict[str, Any]] = {}

    @property
    def last(self) -> dict[str, Any] | None:
        return self._blocks[-1] if self._blocks else None

    def find(self, kind: str, index: object) -> dict[str, Any] | None:
        """Return the block with that index, or without an index the last block if of that kind."""
        if index is not None:
            return self._by_key.get((kind, _hashable(index)))
        last = self.last
        return last if last and last.get("type") == kind else None

    def add(self, block: dict[str, Any], kind: str = "", index: object = None) -> None:
        added = {name: value for name, value in block.items() if value is not None}
        self._blocks.append(added)
        self._by_key[kind, _hashable(index)] = added

    def extend(self, block: dict[str, Any], more: dict[str, Any], text: str) -> None:
        name, texts = self._texts.setdefault(id(block), (text, [str(block.get(text) or "")]))
        texts.append(str(more.get(name) or ""))
        block |= {key: value for key, value in more.items() if key != text and value is not None}

    def build_blocks(self) -> list[dict[str, Any]]:
        for block in self._blocks:
            if id(block) in self._texts:
                name, texts = self._texts[id(block)]
                block[name] = "".join(texts)
        return self._blocks


def _hashable(index: object) -> object:
    return index if isinstance(index, int | str) else None


def _objects(parts: Iterable[Any]) -> Iterable[dict[str, Any]]:
    for part in parts:
        for member in part if isinstance(part, list) else [part]:
            if isinstance(member, dict):
                yield member
