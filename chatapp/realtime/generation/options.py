"""The tools and parameters of a reply's requests, and a request as people can look at it."""

from collections.abc import Mapping, Sequence
from typing import Any

from channels.db import database_sync_to_async

from chatapp.catalogue import build_endpoint
from chatapp.models import ToolServer, Turn
from chatapp.models.conversations.turns.turn import tool_servers
from chatapp.models.library.presets import CLOCK
from chatapp.realtime.generation.identifiers import identifiers_for
from chatapp.realtime.generation.request import adapt_history
from chatapp.tools import CLOCK as CLOCK_TOOL
from chatapp.tools import shared_registry
from chatapp.upstream.wire.errors.upstream_error import MIN_SECRET_LENGTH
from chatapp.upstream.wire.requests.concessions import Concession
from chatapp.upstream.wire.requests.content import ImagePart, is_parts
from chatapp.upstream.wire.requests.dialects import ChatMessage, RequestOptions
from chatapp.upstream.wire.requests.spellings import NO_REASONING
from chatapp.upstream.wire.requests.tool_schemas import without_keywords

KEY_REMOVED = "(key removed)"
EFFORT = "reasoning_effort"
TOOLS, REASONING = "tools", "reasoning"


async def build_options(
    turn: Turn, servers: Sequence[ToolServer] | None
) -> tuple[RequestOptions, str]:
    """Return the tools and parameters of a request of this turn, and what they had to concede.

    `servers` are the tool servers that it offers, if they were just read. A model that takes no
    tools together with reasoning gets tools, unless the chat sets an effort or they are only the
    clock.
    """
    upstream, model, tools = turn.reply.upstream, turn.reply.model, []
    assert upstream
    concessions = upstream.concessions_to(model)
    if upstream.offers_tools and Concession.TOOLS not in concessions:
        person = turn.conversation.user_id
        if servers is None:
            read = database_sync_to_async(tool_servers)
            servers = await read(upstream, person, turn.request_settings, turn.off_servers)
        has_clock = upstream.offers_clock
        if turn.request_settings:
            has_clock = has_clock and turn.request_settings.offers(CLOCK)
        offered = await shared_registry().tools(servers, has_clock=has_clock, person=person)
        tools = [tool.as_request() for tool in offered]
        if Concession.SCHEMA_KEYWORDS in concessions or upstream.gateway.refuses_schema_keywords:
            tools = [without_keywords(tool) for tool in tools]
    parameters, conceded = turn.parameters, ""
    if tools and Concession.TOOLS_WITH_EFFORT in concessions:
        effort = parameters.get(EFFORT)
        is_clock = all(tool.name == CLOCK_TOOL.name for tool in offered)
        if effort is None and not is_clock:
            parameters, conceded = {**parameters, EFFORT: NO_REASONING}, REASONING
        elif effort != NO_REASONING:
            tools, conceded = [], TOOLS
    identifiers = identifiers_for(upstream, model, turn.conversation.user_id, turn.conversation.pk)
    return RequestOptions(tools, upstream.parameters_for(model, parameters) | identifiers), conceded


async def build_request_preview(turn: Turn) -> dict[str, object]:
    """Return the body of the turn's request for people to look at.

    Images have a placeholder in place of their bytes. The upstream's key can't be in a body, unless
    an administrator put it into a parameter: there it is removed.
    """
    reply = turn.reply
    assert reply.upstream
    history = adapt_history(turn.history, reply.upstream, reply.model)
    options, _ = await build_options(turn, turn.tool_servers)
    endpoint = build_endpoint(reply.upstream)
    messages = [_with_placeholders(message) for message in history.messages]
    body = endpoint.request_body(reply.model, messages, options)
    return {name: _remove_secret(endpoint.secret, value) for name, value in body.items()}


def _with_placeholders(message: ChatMessage) -> ChatMessage:
    if not is_parts(content := message.get("content")):
        return message
    parts = [_placeholder(part) if isinstance(part, ImagePart) else part for part in content]
    return {**message, "content": parts}


def _placeholder(image: ImagePart) -> dict[str, object]:
    url = f"data:{image.media_type};base64,… ({image.size:,} bytes)"
    return {"type": "image_url", "image_url": {"url": url}}


def _remove_secret(secret: str, value: Any) -> Any:
    if len(secret) < MIN_SECRET_LENGTH:
        return value
    if isinstance(value, str):
        return value.replace(secret, KEY_REMOVED)
    if isinstance(value, Mapping):
        return {name: _remove_secret(secret, inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_remove_secret(secret, inner) for inner in value]
    return value
