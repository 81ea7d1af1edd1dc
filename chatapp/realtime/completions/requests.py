"""The request of a person's script to a model, and the budget for it."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from chatapp.concurrency.token_bucket import TokenBucket
from chatapp.models import AccessToken, Installation, ModelChoice, Refused, Upstream, Usage
from chatapp.models.billing import handing_over
from chatapp.models.billing.admission import reserve_budget
from chatapp.models.billing.budget_accounts import settle
from chatapp.models.billing.context_windows import context_window
from chatapp.models.billing.reservations import Reservation
from chatapp.models.conversations.messages.failed_models import FailedModel
from chatapp.models.conversations.turns.api_chats import ApiChat
from chatapp.models.conversations.turns.takeovers import TOO_LONG
from chatapp.models.platform.upstream_failures import UpstreamFailure
from chatapp.realtime.generation.identifiers import identifiers_for
from chatapp.realtime.generation.unsaved import OF_REPLIES
from chatapp.upstream.wire.requests.dialects import RequestOptions
from chatapp.upstream.wire.requests.estimates import BYTES_PER_TOKEN, MIDDLE, PromptSize
from chatapp.upstream.wire.requests.history import History
from chatapp.upstream.wire.requests.spellings import find_output_limit

REVOKED = "This token was revoked or has expired, or its account was deactivated."
SWITCHED_OFF = "An administrator has not allowed you to use the API."
TOO_MANY_CHOICES = "n can be {} at most for this model."


class NotPermitted(Refused):
    """The token or its person may not use the API (any more)."""


@dataclass(frozen=True)
class CompletionRequest:
    """A request as a person's script sent it, apart from the model."""

    token: AccessToken
    history: History
    parameters: Mapping[str, object]  # as a chat sets them
    tools: Sequence[Mapping[str, object]] = ()
    tool_choice: object = None
    choices: int = 1
    chat: ApiChat | None = None  # if it is to be saved
    hourly: TokenBucket | None = None  # the bytes that the person may still store now

    @property
    def person(self) -> int:
        return self.token.user_id

    def check_permitted(self) -> None:
        """Raise `NotPermitted` unless the token may still be used."""
        token = AccessToken.objects.living().select_related("user").filter(pk=self.token.pk).first()
        if token is None:
            raise NotPermitted(REVOKED)
        if not Installation.load().lets_use_api(token.user):
            raise NotPermitted(SWITCHED_OFF)


@dataclass
class ApiRequest:
    """A request to one model, which counts as a reply for limits. Its key is that of its usage."""

    completion_request: CompletionRequest
    upstream: Upstream
    model: str
    streamed_by: uuid.UUID  # the process
    pk: uuid.UUID
    began_at: datetime = field(default_factory=timezone.now)
    is_limited: bool = False
    reservation: Reservation | None = None
    failed_models: tuple[FailedModel, ...] = ()  # that were asked before

    @classmethod
    def begin(
        cls,
        completion_request: CompletionRequest,
        choice: ModelChoice,
        process: uuid.UUID,
        key: uuid.UUID,
    ) -> "ApiRequest":
        """Reserve budget for the request. Raises `Refused`."""
        completion_request.check_permitted()
        upstream = Upstream.get_for_choice(choice, completion_request.person)
        request = cls(completion_request, upstream, choice.name, process, key)
        max_choices = request.upstream.parameters.get("n", 1)
        if completion_request.choices > max_choices:
            raise Refused(TOO_MANY_CHOICES.format(max_choices))
        with transaction.atomic():
            request.reserve()
            if completion_request.chat and completion_request.hourly:
                completion_request.chat.charge_quota(
                    completion_request.token.user, completion_request.hourly
                )
        return request

    @staticmethod
    @transaction.atomic
    def forget(key: uuid.UUID) -> None:
        """Release what was reserved for a request that is not sent."""
        settle([Usage(message_id=key)])

    @property
    def upstream_id(self) -> int:
        return self.upstream.pk

    @property
    def history(self) -> History:
        return self.completion_request.history

    @property
    def options(self) -> RequestOptions:
        """The tools and parameters of the request, within the administrator's rules.

        What an administrator sets for all requests holds here too, except what serves replies only.
        """
        requested_parameters = self.completion_request.parameters
        parameters = self.upstream.parameters_for(self.model, requested_parameters)
        for name in OF_REPLIES:
            if name not in requested_parameters:
                parameters.pop(name, None)
        if self.completion_request.tool_choice is not None:
            parameters["tool_choice"] = self.completion_request.tool_choice
        if self.completion_request.choices > 1:
            parameters["n"] = self.completion_request.choices
        parameters |= identifiers_for(self.upstream, self.model, self.completion_request.person)
        return RequestOptions(self.completion_request.tools, parameters)

    def check(self) -> None:
        """Raise `Refused` if the person may not ask the model any more."""
        self.completion_request.check_permitted()
        Upstream.get_for_choice(
            ModelChoice(self.upstream.pk, self.model), self.completion_request.person
        )

    def for_model(self, choice: ModelChoice) -> "ApiRequest":
        """Return the request as another model would be asked it. Raises `Refused`."""
        upstream = Upstream.get_for_choice(choice, self.completion_request.person)
        request = replace(self, upstream=upstream, model=choice.name, reservation=None)
        window = context_window(upstream, choice.name)
        if window and request.size.tokens(BYTES_PER_TOKEN, MIDDLE) > window:
            raise Refused(TOO_LONG)
        return request

    def take_over(
        self, other: "ApiRequest", failed: FailedModel, spent: Usage
    ) -> "ApiRequest | None":
        """Move the budget to another model, and return the request to go on with.

        `spent` is what the model that failed cost. Raises `OverLimit`, and changes nothing.
        """
        spent.message_id, spent.kind = uuid.uuid4(), Usage.Kind.API
        with transaction.atomic():
            person = self.completion_request.person
            spent.charge(person, self.upstream, self.model, asked_at=self.began_at)
            handing_over.release(self.pk, spent, person, other.upstream_id, other.model)
            other.reserve()
            UpstreamFailure.count_failure(failed.upstream, failed.kind)
        other.failed_models = (*self.failed_models, failed)
        return other

    def reserve(self) -> None:
        """Reserve budget for it, in a transaction. Raises `OverLimit`."""
        options = self.options
        max_output = find_output_limit(options.parameters)
        reservations_by_id = reserve_budget(
            self.completion_request.person,
            [self],
            lambda request: request.size.upper_tokens,
            lambda _: max_output * options.choices if max_output else None,
        )
        self.reservation = reservations_by_id.get(self.pk)

    @property
    def size(self) -> PromptSize:
        return PromptSize.of(self.history, self.completion_request.tools)
