"""Remembers what models do not support, as learned from their upstreams' errors."""

from dataclasses import dataclass, field

Model = tuple[int, str]  # the primary key of its upstream, and its name


@dataclass
class Unsupported:
    """The models that refused tools and those that refused a system message."""

    tools: set[Model] = field(default_factory=set)
    system: set[Model] = field(default_factory=set)
