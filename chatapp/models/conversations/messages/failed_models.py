"""The models that failed before another one answered a reply."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self


@dataclass(frozen=True)
class FailedModel:
    """A model that was asked first, and why it did not answer."""

    upstream: int  # its primary key; 0 in imported replies
    model: str
    name: str  # as it was shown then
    kind: str  # of the error, or the ending if there was none
    status: int | None = None

    @classmethod
    def from_records(cls, records: Sequence[Mapping[str, Any]] | None) -> tuple[Self, ...]:
        return tuple(cls(**record) for record in records or ())

    def as_record(self) -> dict[str, Any]:
        return asdict(self)
