"""A turn: a stored prompt, the reply to come, and what is sent with them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from chatapp.models.billing.reservations import Reservation
from chatapp.models.conversations.chats.conversation import Conversation
from chatapp.models.conversations.chats.request_settings import RequestSettings
from chatapp.models.conversations.messages.messages import Message
from chatapp.models.conversations.threads.branch_history import BranchHistory
from chatapp.models.platform.tool_servers import ToolServer
from chatapp.models.platform.upstreams import Upstream
from chatapp.models.policies.review_policies import ReviewPolicy
from chatapp.upstream.wire.requests.estimates import PromptSize
from chatapp.upstream.wire.requests.history import History


@dataclass(frozen=True)
class Turn:
    """A stored prompt, the reply to come, and the part of the branch that is sent with them."""

    before: BranchHistory
    prompt: Message
    reply: Message
    tool_servers: Sequence[ToolServer] = ()  # whose tools the model may call
    request_settings: RequestSettings | None = None  # the system message and the parameters
    off_servers: Sequence[int] = ()  # the chat's
    is_repeated: bool = False
    is_retry: bool = False  # of an existing prompt, which has other replies already
    others: Sequence["Turn"] = ()  # the same prompt, sent to other models at the same time
    reservation: Reservation | None = None  # if limits apply to the reply
    policy: ReviewPolicy | None = None  # if the turn begins a conversation: its policy
    finishes: bool = False  # even if the person closes the tab

    @property
    def replies(self) -> list[Message]:
        """All replies that answer the prompt in this turn."""
        return [self.reply, *(turn.reply for turn in self.others)]

    @property
    def head(self) -> UUID:
        """The last message on a page that shows this turn, see `View.head`."""
        return self.prompt.pk if self.others else self.reply.pk

    @property
    def conversation(self) -> Conversation:
        return self.prompt.conversation

    @property
    def upstream(self) -> Upstream:
        """The upstream that is asked."""
        assert self.reply.upstream
        return self.reply.upstream

    @property
    def model(self) -> str:
        return self.reply.model

    @property
    def history(self) -> History:
        """The messages that the upstream is sent."""
        prompt = History.of(self.prompt.as_chat_messages(self.reply))
        messages = self.before.history(self.reply).concatenate(prompt)
        return self.request_settings.add_to_history(messages) if self.request_settings else messages

    @property
    def parameters(self) -> Mapping[str, object]:
        """The parameters that the chat sets; see `parameters.values`."""
        return self.request_settings.parameters if self.request_settings else {}

    @property
    def prompt_size(self) -> PromptSize:
        """The size of its request without tools."""
        return PromptSize.of(self.history, image_side=self.upstream.image_side)


def tool_servers(
    upstream: Upstream,
    person: int,
    request_settings: RequestSettings | None,
    off_servers: Collection[int],
) -> list[ToolServer]:
    """Return the enabled tool servers, open only if the person and the preset may use them, and if
    they are not switched off in the chat."""
    servers = ToolServer.all_enabled(person) if upstream.offers_tools else []
    for server in servers:
        if server.pk in off_servers or (
            request_settings and not request_settings.offers(server.pk)
        ):
            server.close()
    return servers
