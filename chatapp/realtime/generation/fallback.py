"""Lets another model answer if the one that was asked fails before it has written anything.

An administrator names the models (see `Fallback`). They are asked in that order. One is left out if
the person may not ask it, if their budget doesn't allow it, or if it can't take the chat.
"""

import logging
import re
from collections.abc import Callable
from functools import partial
from typing import Generic, Protocol, TypeVar

from django.db import InterfaceError, OperationalError

from chatapp import metrics
from chatapp.catalogue import get_display_name, takes_images
from chatapp.models import Fallback, ModelChoice, Refused, Upstream, Usage
from chatapp.models.billing.reservations import Reservation
from chatapp.models.conversations.messages.failed_models import FailedModel
from chatapp.realtime.generation.storing import run_in_write_thread
from chatapp.upstream.wire.errors.upstream_error import ErrorKind, UpstreamError
from chatapp.upstream.wire.reply import Ending
from chatapp.upstream.wire.requests.history import History

logger = logging.getLogger(__name__)

PAYMENT_REQUIRED = 402
# Failures of an upstream that another request would meet as well.
OF_ANY_REQUEST = frozenset(
    {
        ErrorKind.UNREACHABLE,
        ErrorKind.UNAUTHORIZED,
        ErrorKind.RATE_LIMITED,
        ErrorKind.NOT_FOUND,
        ErrorKind.SERVER_ERROR,
        ErrorKind.REDIRECTED,
        ErrorKind.NOT_A_STREAM,
        ErrorKind.EMPTY,
        ErrorKind.TIMED_OUT,
    }
)
_OF_PROMPT = re.compile(r"moderat|flagged|polic(y|ies)\b|safety", re.I)
_IN_STREAM = re.compile(r"overload|rate.?limit|server.?error|unavailable|quota|capacity", re.I)


def calls_for_another(error: UpstreamError | None) -> bool:
    """Whether the upstream failed, and not the request. None is a connection that was lost.

    What an upstream rejects because of its content goes to no other model.
    """
    if error is None:
        return True
    if error.status == 403 and _OF_PROMPT.search(f"{error.message} {error.code}"):
        return False
    is_named = error.kind is ErrorKind.STREAM_ERROR and _IN_STREAM.search(
        f"{error.type} {error.code}"
    )
    is_unpaid = error.status == PAYMENT_REQUIRED
    return error.kind in OF_ANY_REQUEST or error.may_pass or is_unpaid or bool(is_named)


class ModelRequest(Protocol):
    """A request to a model: a turn, or a request over the API."""

    @property
    def upstream(self) -> Upstream: ...
    @property
    def model(self) -> str: ...
    @property
    def history(self) -> History: ...
    @property
    def reservation(self) -> Reservation | None: ...


A = TypeVar("A", bound=ModelRequest)


class Fallbacks(Generic[A]):
    """The models that may still answer in place of the one that was asked."""

    def __init__(
        self,
        request: A,
        for_model: Callable[[A, ModelChoice], A],
        take_over: Callable[[A, A, FailedModel, Usage], A | None],
    ) -> None:
        """`for_model` and `take_over` do what `takeovers` says of turns."""
        self._asked = request
        self._build_for = for_model
        self._take_over = take_over
        self._left: list[ModelChoice] | None = None  # read after the first failure

    async def next(self, error: UpstreamError | None, spent: Usage) -> A | None:
        """Let the next model answer that may, and return what it is asked.

        `spent` is what the model that failed cost. Returns None if no other model may answer.
        """
        if not calls_for_another(error):
            return None
        try:
            return await run_in_write_thread(partial(self._next, error, spent))
        except (OperationalError, InterfaceError) as failure:
            logger.warning("No fallback is asked, because the database failed: %s", failure)
            return None

    def _next(self, error: UpstreamError | None, spent: Usage) -> A | None:
        upstream, model = self._asked.upstream, self._asked.model
        if self._left is None:
            self._left = Fallback.objects.choices(upstream.pk, model)
        failed = FailedModel(
            upstream.pk,
            model,
            get_display_name(upstream, model),
            error.kind if error else Ending.CUT_OFF,
            error.status if error else None,
        )
        while self._left:
            choice = self._left.pop(0)
            try:
                other = self._take_over(self._asked, self._prepare_request(choice), failed, spent)
            except Refused as refusal:
                logger.info("The fallback %s is not asked: %s", choice.name, refusal)
                continue
            if other is None:
                return None
            _report(failed, upstream.name, other)
            self._asked = other
            return other
        return None

    def _prepare_request(self, choice: ModelChoice) -> A:
        """Return what this model would be asked; raises `Refused`."""
        request = self._build_for(self._asked, choice)
        if request.history.needs_images and takes_images(request.upstream, choice.name) is False:
            raise Refused("It takes no images.")
        return request


def _report(failed: FailedModel, upstream: str, other: ModelRequest) -> None:
    """Write a line without the error's message, which may quote a prompt."""
    to = other.upstream.name
    metrics.fallbacks.labels(upstream, to).inc()
    fields = {"model": failed.model, "error": failed.kind, "status": failed.status or ""}
    fields["fallback"] = f"{other.model} of {to}"
    logger.warning("An upstream failed, and a fallback is asked", extra=fields)
