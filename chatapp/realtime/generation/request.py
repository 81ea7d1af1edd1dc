"""One request to a model: what it is sent, and what it means if the model refuses it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from chatapp.catalogue import takes_images
from chatapp.models import Upstream
from chatapp.parameters.values import find_parameter_names, quote_value
from chatapp.realtime.generation.lessons import Lessons
from chatapp.upstream.wire.errors.parameter_refusals import ParameterRefusal, find_refusal
from chatapp.upstream.wire.errors.upstream_error import ErrorKind, UpstreamError
from chatapp.upstream.wire.requests.concessions import Concession, apply_concessions, concession_for
from chatapp.upstream.wire.requests.content import has_parts
from chatapp.upstream.wire.requests.dialects import RequestOptions
from chatapp.upstream.wire.requests.estimates import PromptSize
from chatapp.upstream.wire.requests.history import History
from chatapp.upstream.wire.requests.tool_schemas import has_keywords


@dataclass
class Request:
    """A request.

    `parameters` are those of the chat; `options` has fields for some of them. `options` are limited
    to the budget just before they are sent.
    """

    upstream: Upstream
    model: str
    history: History  # as the model takes it
    options: RequestOptions
    parameters: Mapping[str, object] = field(default_factory=dict)
    image_side: int | None = None  # to which images are scaled, in pixels
    is_ours: bool = True  # and not a script's, whose mistakes say nothing about the model

    @property
    def size(self) -> PromptSize:
        return PromptSize.of(self.history, self.options.tools, self.image_side)

    @property
    def joins_parts(self) -> bool:
        """Whether contents are sent as texts, because the model takes no lists of parts."""
        concessions = self.upstream.concessions_to(self.model)
        return Concession.PARTS in concessions and not self.history.images

    def learn_from(
        self, error: UpstreamError, lessons: Lessons, possible: Collection[Concession]
    ) -> bool:
        """Learn from a refusal; return whether the model may answer the same in another form.

        `possible` are the concessions that may be made.
        """
        if self._refuses_images(error):
            if self.is_ours:
                lessons.learn_images()
            return not adapt_history(self.history, self.upstream, self.model).images
        refusal = self._find_refusal(error)
        if refusal and not refusal.of_value and self._teaches(refusal):
            lessons.learn_fields(refusal.fields)
            if self.upstream.has_other_names(self.model, refusal.fields):
                return True
        if refusal and self._find_names(refusal):
            return False
        if concession := concession_for(error, self._find_concessions() & set(possible)):
            is_lasting = concession is not Concession.TOOLS or error.refuses_all_tools
            lessons.concede(concession, is_lasting)
            return True
        return False

    def is_too_long(self, error: UpstreamError) -> bool:
        """Whether the messages don't fit, and not just the maximum output that the chat sets."""
        refusal = self._find_refusal(error)
        names = self._find_names(refusal) if refusal else []
        return error.exceeds_context and "max_output_tokens" not in names

    def explain(self, error: UpstreamError) -> UpstreamError:
        """Return the error with what the model refused of the request, if it says that."""
        refusal = self._find_refusal(error)
        names = self._find_names(refusal) if refusal else []
        if self._refuses_images(error):
            return replace(error, kind=ErrorKind.NO_IMAGES)
        if refusal and names:
            value = quote_value(names[0], self.parameters) if refusal.of_value else ""
            return replace(error, kind=ErrorKind.NO_PARAMETER, param=" ".join(names), code=value)
        return error

    def _refuses_images(self, error: UpstreamError) -> bool:
        return bool(self.history.images) and (error.refuses_images or error.refuses_parts)

    def _teaches(self, refusal: ParameterRefusal) -> bool:
        """Whether a refusal of fields is news of the model, and worth remembering.

        An administrator's own field is sent even if it was refused before.
        """
        is_news = not set(refusal.fields) <= set(self.upstream.refused_by(self.model))
        return is_news and (
            self.is_ours or self.upstream.has_other_names(self.model, refusal.fields)
        )

    def _find_refusal(self, error: UpstreamError) -> ParameterRefusal | None:
        return find_refusal(error, self.options.parameters.keys())

    def _find_names(self, refusal: ParameterRefusal) -> list[str]:
        return find_parameter_names(refusal.fields, self.parameters)

    def _find_concessions(self) -> set[Concession]:
        """Return the concessions that would change this request."""
        applies = {
            Concession.TOOLS: bool(self.options.tools),
            Concession.SCHEMA_KEYWORDS: any(map(has_keywords, self.options.tools)),
            Concession.SYSTEM: self.history.has_system,
            Concession.PARTS: not self.joins_parts and has_parts(self.history.messages),
            Concession.BARE_CALLS: self.history.has_bare_calls,
        }
        return {concession for concession, does_apply in applies.items() if does_apply}


def adapt_history(history: History, upstream: Upstream, model: str) -> History:
    """Return the history as a model takes it."""
    if history.images and takes_images(upstream, model) is False:
        history = history.without_optional_images()
    return apply_concessions(history, upstream.concessions_to(model))
