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
        settings_by_model: dict[str, object] = {}
        for model_settings in self._chat.own.model_settings:
            choice = self._choice(model_settings.upstream, model_settings.model)
            if choice and len(settings_by_model) < MAX_MODELS:
                settings_by_model[str(choice)] = dict(model_settings.own)
            else:
                reasons.add(NO_MODEL, self._chat.title)
        return settings_by_model

    def _choice(self, upstream: str, model: str) -> ModelChoice | None:
        key = upstream, model
        if key not in self._choices:
            self._choices[key] = self._find_choice(upstream, model)
        return self._choices[key]

    def _find_choice(self, upstream: str, model: str) -> ModelChoice | None:
        for candidate in Upstream.all_enabled():
            if candidate.name == upstream:
                choice = ModelChoice(candidate.pk, model)
                try:
                    Upstream.get_for_choice(choice, self._user.pk)
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

    def get_or_store_request(
        self, record: SourceMessage, conversation: Conversation
    ) -> UUID | None:
        """Return the key of what a reply was asked with, which is stored once."""
        key = record.own.request
        if key not in self._stored:
            if (request := self._chat.own.requests.get(key)) is None:
                return None
            self._stored[key] = RequestSettings.get_or_create_imported(
                conversation, request.instructions, request.parameters
            )
        return self._stored[key].pk

    def cuts(self, now: datetime) -> list[ContextCut]:
        """Return what models are not sent."""
        replies = {
            message.source_id for message in self._chat.messages if message.role == "assistant"
        }
        cuts_by_reply = {
            source_cut.through: source_cut
            for source_cut in self._chat.own.cuts
            if source_cut.through is None or source_cut.through in replies
        }
        return [self._build_cut(cut, now) for cut in cuts_by_reply.values()]

    def _build_cut(self, source_cut: SourceCut, now: datetime) -> ContextCut:
        choice = self._choice(source_cut.upstream, source_cut.model) if source_cut.summary else None
        return ContextCut(
            conversation_id=self._key,
            message_id=message_key(self._key, source_cut.through) if source_cut.through else None,
            summary=source_cut.summary[:MAX_SUMMARY],
            upstream_id=choice.upstream if choice else None,
            model=source_cut.model,
            is_edited=source_cut.is_edited,
            is_lifted=source_cut.is_lifted,
            created_at=min(source_cut.created_at or now, now),
        )
