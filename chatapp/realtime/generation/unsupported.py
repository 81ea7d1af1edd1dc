"""Remembers what models do not support, as learned from their upstreams' errors."""

from dataclasses import dataclass, field

from chatapp.upstream.wire.errors import UpstreamError

Model = tuple[int, str]  # the primary key of its upstream, and its name


@dataclass
class Unsupported:
    """The models that refused tools, a system message, or contents that are lists of parts."""

    tools: set[Model] = field(default_factory=set)
    system: set[Model] = field(default_factory=set)
    parts: set[Model] = field(default_factory=set)

    def learn(
        self, model: Model, error: UpstreamError, *, tools: bool, system: bool, parts: bool
    ) -> bool:
        """Remember what a model refused of a request that had tools, a system message or parts.

        Returns whether it refused one of them, so that the request can be sent without it.
        """
        if tools and error.refuses_tools:
            self.tools.add(model)
        elif system and error.refuses_system:
            self.system.add(model)
        elif parts and error.refuses_parts:
            self.parts.add(model)
        else:
            return False
        return True
