"""A chat with one of everything, and exports of it as text."""

from datetime import UTC, datetime, timedelta

from chatapp.exports.reading import Chat, ChatReader
from chatapp.models import ChatSettings, Conversation, Message, Project, Upstream, Usage, User
from chatapp.models.conversations.messages.extras import Extras
from chatapp.models.conversations.messages.rounds import Round, RunState, ToolRun
from chatapp.upstream.wire.reply import Ending
from chatapp.upstream.wire.sources import Source

AT = datetime(2025, 10, 9, 12, tzinfo=UTC)
PICTURE = b"\x89PNG\r\n\x1a\n" + b"0" * 20


def create_stars(user: User, upstream: Upstream) -> Conversation:
    """Store a chat with two branches, a tool call, a source, an image and half an answer."""
    project = Project.objects.create(user=user, name="Sky & <space>")
    chat = Conversation.objects.create(user=user, title="<b>Stars</b>", project=project)
    settings = ChatSettings.for_conversation(chat)
    settings.set_own("Be exact.", {})
    settings.store()
    prompt = chat.messages.create(role="user", content="How <i>far</i>?", created_at=AT)
    whole = _reply(chat, prompt, upstream, content="```\n25 <light>-years", ending=Ending.COMPLETE)
    run = ToolRun("call_1", "look", '{"x": 1}', RunState.DONE, "```\n</details>")
    rounds = [Round("Hm, </details>.", "I look it up.", tool_runs=[run]).as_record()]
    extras = Extras((Source("https://vega.example/", "Vega]"),), image_count=1)
    half = _reply(
        chat, prompt, upstream, content="About", ending=Ending.CUT_OFF, earlier_rounds=rounds,
        extras_record=extras.as_record(),
    )  # fmt: skip
    half.images.create(position=0, media_type="image/png", data=PICTURE)
    chat.messages.create(parent=whole, role="user", content="And Deneb?", created_at=AT)
    chat.messages.create(parent=whole, role="user", content="forgotten", deleted_at=AT)
    Usage.objects.create(
        message=whole, user=user, provenance="reported", prompt_tokens=3, completion_tokens=4,
        total_tokens=7, model="=m", booked_at=AT, cost=1_500_000,
    )  # fmt: skip
    return chat


def _reply(chat: Conversation, prompt: Message, upstream: Upstream, **content: object) -> Message:
    at = AT + timedelta(seconds=1)
    return chat.messages.create(
        parent=prompt, role="assistant", created_at=at, upstream=upstream, model="m", **content
    )


def read_chat(chat: Conversation, *, is_shown_only: bool = False) -> Chat:
    """Return the chat as an export reads it; its messages can be read once."""
    return next(iter(ChatReader(chat.user, [chat.pk], is_shown_only=is_shown_only)))
