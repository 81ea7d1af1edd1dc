"""Whether a prompt may be sent: running replies, budgets, and the contexts of models."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from django.conf import settings

from chatapp.db.statements import Query
from chatapp.models.accounts.users import User
from chatapp.models.billing.admission import reserve_budget
from chatapp.models.billing.context_windows import context_window
from chatapp.models.billing.reservations import MIN_OUTPUT, Reservation
from chatapp.models.billing.tool_tokens import get_tool_tokens
from chatapp.models.conversations.messages.messages import Message
from chatapp.models.conversations.threads.branch_history import BranchHistory
from chatapp.models.conversations.threads.prompt_need import describe_need
from chatapp.models.conversations.turns.turn import Turn
from chatapp.models.refusals import Refused, TooLittleForPrompt
from chatapp.upstream.wire.requests.estimates import BYTES_PER_TOKEN, MIDDLE

TOO_LONG = (
    "With its files, this has about {:,} tokens, and {name} takes {most:,}. Send only some of the "
    "pages, remove a file, or choose another model; your text and your files are kept."
)
TOO_LONG_PRESET = (
    "With the files of its preset, this has about {:,} tokens, and {name} takes {most:,}. Choose "
    "another model or preset; your text is kept."
)


def admit_replies(user: User, worker: UUID | None, count: int = 1) -> UUID:
    """Return the worker if `count` more replies may run for this person; raises `Refused`."""
    if worker is None:
        raise Refused("The server is restarting. Your text is kept: send it again in a moment.")
    limit = settings.CHATAPP_REPLIES_PER_PERSON
    if _STREAMING_FOR_USER.count(user.pk) + count > limit:
        raise Refused(
            f"You already have {limit} replies running. "
            "Stop one, or wait for one to finish; your text is kept."
        )
    return worker


def reserve(
    user: User,
    before: BranchHistory,
    prompt: Message,
    replies: Sequence[Message],
) -> Mapping[UUID, Reservation]:
    """Reserve budget for the replies that limits apply to; return reservations by reply. Raises
    `Refused`."""

    def count_prompt_tokens(reply: Message) -> int:
        turn = Turn(before, prompt, reply, request_settings=reply.request_settings)
        return turn.prompt_size.upper_tokens + get_tool_tokens(reply.upstream_id)

    def get_output_limit(reply: Message) -> int | None:
        parameters = reply.request_settings.parameters if reply.request_settings else {}
        return reply.upstream.output_limit_for(reply.model, parameters) if reply.upstream else None

    try:
        return reserve_budget(user.pk, replies, count_prompt_tokens, get_output_limit)
    except TooLittleForPrompt as refused:
        first = replies[0]
        need = describe_need(
            Turn(before, prompt, first, request_settings=first.request_settings).prompt_size,
            get_tool_tokens(first.upstream_id) + MIN_OUTPUT,
            prompt.content,
            has_files=bool(prompt.file_count),
            has_earlier=before.end is not None,
        )
        raise refused.with_need(need) from None


def check_contexts(before: BranchHistory, prompt: Message, replies: Sequence[Message]) -> None:
    """Raise `Refused` if files are too long for the context of a model, as far as it is known."""
    for reply in replies:
        window = context_window(reply.upstream, reply.model)
        turn = Turn(before, prompt, reply, request_settings=reply.request_settings)
        tokens = turn.prompt_size.tokens(BYTES_PER_TOKEN, MIDDLE) if window else 0
        if window and tokens > window:
            template = TOO_LONG if prompt.file_count else TOO_LONG_PRESET
            raise Refused(template.format(tokens, name=reply.model, most=window))


_STREAMING_FOR_USER = Query(
    lambda user: Message.objects.streaming().filter(conversation__user=user).only("pk").order_by(),
    User._meta.pk,
)
