"""Turns the settings of an imported chat into rows: its instructions and parameters, and from our
own exports also those of single models and of requests, and what models are not sent.

Models are found by the name of their upstream, among those that the person may choose.
"""

from datetime import datetime
from uuid import UUID

from chatapp.imports.figures import Reasons
from chatapp.imports.rows import message_key, request_bytes
from chatapp.models import ChatSettings, Conversation, ModelChoice, RequestSettings, Upstream, User
from chatapp.models.conversations.chat_settings import MAX_MODELS
from chatapp.models.conversations.context_cuts import MAX_SUMMARY, ContextCut
from chatapp.models.library.presets import MAX_SYSTEM_PROMPT_LENGTH
from chatapp.models.refusals import Refused
from chatapp.transfer import SourceChat, SourceMessage
from chatapp.transfer.records import SourceCut

NO_MODEL = "Settings of a model that you don't have here were left out."
LONG = "Its instructions are very long, so only their beginning is here."


class OwnSettings:
    """The settings of one chat, which has this key here."""

    def __init__(self, user: User, key: UUID, chat: SourceChat) -> None:
        self._user, self._key, self._chat = user, key, chat
        self._stored: dict[str, RequestSettings] = {}  # by their id in the export
        self._counted: set[str] = set()
        self._choices: dict[tuple[str, str], ModelChoice | None] = {}  # by upstream and model

    def store(self, conversation: Conversation, reasons: Reasons) -> None:
        """Store what is set for the chat, whose row was just stored."""
        prompt = self._chat.system_prompt
        if len(prompt) > MAX_SYSTEM_PROMPT_LENGTH:
            reasons.add(LONG, self._chat.title)
        ChatSettings(
            conversation=conversation,
            system_prompt=prompt[:MAX_SYSTEM_PROMPT_LENGTH] or None,
            parameters=dict(self._chat.parameters) or None,
            by_model=self._by_model(reasons) or None,
        ).store()

    def _by_model(self, reasons: Reasons) -> dict[str, object]:
        found: dict[str, object] = {}
        for one in self._chat.own.model_settings:
            choice = self._choice(one.upstream, one.model)
            if choice and len(found) < MAX_MODELS:
                found[str(choice)] = dict(one.own)
            else:
                reasons.add(NO_MODEL, self._chat.title)
        return found

    def _choice(self, upstream: str, model: str) -> ModelChoice | None:
        named = upstream, model
        if named not in self._choices:
            self._choices[named] = self._find_choice(upstream, model)
        return self._choices[named]

    def _find_choice(self, upstream: str, model: str) -> ModelChoice | None:
        for one in Upstream.all_enabled():
            if one.name == upstream:
                choice = ModelChoice(one.pk, model)
                try:
                    Upstream.offering(choice, self._user.pk)
                except Refused:
                    continue
                return choice
        return None

    def bytes_with(self, record: SourceMessage) -> int:
        """Return how many bytes the request settings take up that come with this message."""
        key = record.own.request
        if key in self._counted or key not in self._chat.own.requests:
            return 0
        self._counted.add(key)
        return request_bytes(self._chat.own.requests[key])

    def request_of(self, record: SourceMessage, conversation: Conversation) -> UUID | None:
        """Return the key of what a reply was asked with, which is stored once."""
        key = record.own.request
        if key not in self._stored:
            if (asked := self._chat.own.requests.get(key)) is None:
                return None
            self._stored[key] = RequestSettings.imported(
                conversation, asked.instructions, asked.parameters
            )
        return self._stored[key].pk

    def cuts(self, now: datetime) -> list[ContextCut]:
        """Return what models are not sent."""
        replies = {one.source_id for one in self._chat.messages if one.role == "assistant"}
        found = {
            one.through: one
            for one in self._chat.own.cuts
            if one.through is None or one.through in replies
        }
        return [self._cut(one, now) for one in found.values()]

    def _cut(self, one: SourceCut, now: datetime) -> ContextCut:
        choice = self._choice(one.upstream, one.model) if one.summary else None
        return ContextCut(
            conversation_id=self._key,
            message_id=message_key(self._key, one.through) if one.through else None,
            summary=one.summary[:MAX_SUMMARY],
            upstream_id=choice.upstream if choice else None,
            model=one.model,
            is_edited=one.is_edited,
            is_lifted=one.is_lifted,
            created_at=min(one.created_at or now, now),
        )
