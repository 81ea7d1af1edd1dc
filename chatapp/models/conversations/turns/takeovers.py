"""Lets another model answer a reply whose model failed before it wrote anything.

The reply's row names the new model before that is asked. So whatever happens next, what the reply
costs is booked where it ran.
"""

import uuid
from copy import copy
from dataclasses import replace

from django.db import transaction

from chatapp.models.billing import handing_over
from chatapp.models.billing.admission import reserve_budget
from chatapp.models.billing.context_windows import context_window
from chatapp.models.billing.tool_tokens import get_tool_tokens
from chatapp.models.billing.usage import Usage
from chatapp.models.conversations.messages.failed_models import FailedModel
from chatapp.models.conversations.messages.messages import Message
from chatapp.models.conversations.turns.turn import Turn, tool_servers
from chatapp.models.platform.upstream_failures import UpstreamFailure
from chatapp.models.platform.upstreams import ModelChoice, Upstream
from chatapp.models.refusals import Refused
from chatapp.upstream.wire.requests.estimates import BYTES_PER_TOKEN, MIDDLE

TOO_LONG = "This chat is too long for the model."


def plan_takeover(turn: Turn, choice: ModelChoice) -> Turn:
    """Return the turn as this model would be asked it. Nothing is stored yet.

    Raises `Refused` if the person may not ask the model, or if the chat doesn't fit into it.
    """
    person = turn.conversation.user_id
    upstream = Upstream.get_for_choice(choice, person)
    reply = copy(turn.reply)
    reply.upstream, reply.model = upstream, choice.name
    servers = tool_servers(upstream, person, turn.request_settings, turn.off_servers)
    planned_turn = replace(turn, reply=reply, tool_servers=servers, reservation=None)
    window = context_window(upstream, choice.name)
    if window and planned_turn.prompt_size.tokens(BYTES_PER_TOKEN, MIDDLE) > window:
        raise Refused(TOO_LONG)
    return planned_turn


def take_over(turn: Turn, planned_turn: Turn, failed: FailedModel, spent: Usage) -> Turn | None:
    """Let the model of `planned_turn` answer the turn's reply; return the turn to go on with.

    `spent` is what the model that failed cost. Returns None if the reply has ended meanwhile.
    Raises `OverLimit`, and changes nothing, if the person's budget doesn't allow the model.
    """
    reply, other = turn.reply, planned_turn.reply
    other.failed_models_record = [*(reply.failed_models_record or ()), failed.as_record()]
    person, asks_at = turn.conversation.user_id, reply.created_at
    spent.preset = reply.preset
    spent.message_id = uuid.uuid5(reply.pk, f"failed model {len(reply.failed_models)}")
    with transaction.atomic():
        streaming = Message.objects.filter(pk=reply.pk, ending=Message.STREAMING)
        changed = ("upstream", "model", "failed_models_record")
        if not streaming.update(**{name: getattr(other, name) for name in changed}):
            return None
        spent.charge(person, reply.upstream, reply.model, asked_at=asks_at)
        assert other.upstream
        assert other.upstream_id
        handing_over.release(reply.pk, spent, person, other.upstream_id, other.model)
        tools = get_tool_tokens(other.upstream_id)
        output_limit = other.upstream.output_limit_for(other.model, planned_turn.parameters)
        admitted = reserve_budget(
            person,
            [other],
            lambda _: planned_turn.prompt_size.upper_tokens + tools,
            lambda _: output_limit,
        )
        UpstreamFailure.count_failure(failed.upstream, failed.kind)
    for name in (*changed, "is_limited"):
        setattr(reply, name, getattr(other, name))
    return replace(planned_turn, reply=reply, reservation=admitted.get(reply.pk))
