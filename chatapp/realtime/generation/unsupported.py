"""Remembers what models do not support, as learned from their upstreams' errors."""

from dataclasses import dataclass, field

from chatapp.upstream.wire.errors import UpstreamError
from chatapp.upstream.wire.history import History

Model = tuple[int, str]  # the primary key of its upstream, and its name


@dataclass
class Unsupported:
    """The models that refused tools, a system message, contents that are lists of parts, tool calls
    without reasoning, or tools together with reasoning."""

    tools: set[Model] = field(default_factory=set)
    system: set[Model] = field(default_factory=set)
    parts: set[Model] = field(default_factory=set)
    bare_calls: set[Model] = field(default_factory=set)
    tools_with_effort: set[Model] = field(default_factory=set)

    def as_taken(self, model: Model, history: History) -> History:
        """Return the history as the model takes it."""
        if model in self.system:
            history = history.without_system()
        return history.with_thoughts_of_calls() if model in self.bare_calls else history

    def learn_of_effort(self, model: Model, error: UpstreamError) -> bool:
        """Remember a refusal of tools together with reasoning; return whether it is news."""
        if model in self.tools_with_effort or not error.refuses_tools_with_effort:
            return False
        self.tools_with_effort.add(model)
        return True

    def learn(
        self,
        model: Model,
        error: UpstreamError,
        *,
        tools: bool,
        system: bool,
        parts: bool,
        bare_calls: bool,
    ) -> bool:
        """Remember what a model refused of a request that had these.

        Returns whether it refused one of them, so that the request can be sent without it.
        """
        if bare_calls and error.wants_thoughts_of_calls:
            self.bare_calls.add(model)
        elif tools and error.refuses_tools:
            self.tools.add(model)
        elif system and error.refuses_system:
            self.system.add(model)
        elif parts and error.refuses_parts:
            self.parts.add(model)
        else:
            return False
        return True
