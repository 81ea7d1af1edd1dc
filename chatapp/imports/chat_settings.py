"""Turns the settings of an imported chat into rows: its instructions and parameters, and from our
own exports also those of single models and of requests, and what models are not sent.

Models are found by the name of their upstream, among those that the person may choose.
"""

from datetime import datetime
from uuid import UUID

from chatapp.imports.report import ImportReport
from chatapp.imports.rows import MAX_MODEL, message_key, request_bytes
from chatapp.models import ChatSettings, Conversation, ModelChoice, RequestSettings, Upstream, User
from chatapp.models.conversations.chats.chat_settings import MAX_MODELS
from chatapp.models.conversations.threads.context_cuts import MAX_SUMMARY, ContextCut
from chatapp.models.library.presets import MAX_SYSTEM_PROMPT_LENGTH
from chatapp.models.refusals import Refused
from chatapp.transfer import SourceChat, SourceMessage
from chatapp.transfer.export_format import CutRecord
from chatapp.transfer.values import parse_moment

NO_MODEL = "Settings of a model that you don't have here were left out."
LONG = "Its instructions are very long, so only their beginning is here."


class SettingsImporter:
    """Stores the settings of one chat, which has this key here."""

    def __init__(self, user: User, key: UUID, chat: SourceChat) -> None:
        self._user, self._key, self._chat = user, key, chat
        self._requests = chat.own.requests
        self._stored: dict[str, RequestSettings] = {}  # by their id in the export
        self._counted: set[str] = set()
        self._choices: dict[tuple[str, str], ModelChoice | None] = {}  # by upstream and model

    def store(self, conversation: Conversation, report: ImportReport) -> None:
        """Store what is set for the chat, whose row was just stored."""
        prompt = self._chat.system_prompt
        if len(prompt) > MAX_SYSTEM_PROMPT_LENGTH:
            report.add_reason(LONG, self._chat.title)
        settings_by_model: dict[str, object] = {}
        for model_settings in self._chat.own.model_settings:
            choice = self._find_choice(model_settings.upstream, model_settings.model)
            if choice and len(settings_by_model) < MAX_MODELS:
                settings_by_model[str(choice)] = dict(model_settings.own)
            else:
                report.add_reason(NO_MODEL, self._chat.title)
        ChatSettings(
            conversation=conversation,
            system_prompt=prompt[:MAX_SYSTEM_PROMPT_LENGTH] or None,
            parameters=dict(self._chat.parameters) or None,
            by_model=settings_by_model or None,
        ).store()

    def count_request_bytes(self, record: SourceMessage) -> int:
        """Return how many bytes the settings of a reply's request take up, if they are new."""
        key = record.own.request_settings
        if key in self._counted or key not in self._requests:
            return 0
        self._counted.add(key)
        return request_bytes(self._requests[key])

    def get_or_store_request(
        self, record: SourceMessage, conversation: Conversation
    ) -> UUID | None:
        """Return the key of the settings of a reply's request, which are stored once."""
        key = record.own.request_settings
        if key not in self._stored:
            if (request := self._requests.get(key)) is None:
                return None
            self._stored[key] = RequestSettings.get_or_create_imported(
                conversation, request.instructions or "", request.parameters or {}
            )
        return self._stored[key].pk

    def build_cuts(self, now: datetime) -> list[ContextCut]:
        """Return the rows of the parts of the chat that models are not sent."""
        messages = self._chat.messages
        ends = {None, *(reply.source_id for reply in messages if reply.role == "assistant")}
        cuts = {cut.through or None: cut for cut in self._chat.own.left_out}
        return [self._build_cut(cut, now) for end, cut in cuts.items() if end in ends]

    def _build_cut(self, cut: CutRecord, now: datetime) -> ContextCut:
        choice = self._find_choice(cut.upstream, cut.model) if cut.summary else None
        return ContextCut(
            conversation_id=self._key,
            message_id=message_key(self._key, cut.through) if cut.through else None,
            summary=cut.summary[:MAX_SUMMARY],
            upstream_id=choice.upstream if choice else None,
            model=cut.model[:MAX_MODEL],
            is_edited=cut.is_edited,
            is_lifted=cut.is_lifted,
            created_at=min(parse_moment(cut.created_at) or now, now),
        )

    def _find_choice(self, upstream: str, model: str) -> ModelChoice | None:
        """Return a model that the person may choose, by the name of its upstream."""
        if (upstream, model) not in self._choices:
            choices = [
                ModelChoice(candidate.pk, model)
                for candidate in Upstream.all_enabled()
                if candidate.name == upstream
            ]
            self._choices[upstream, model] = next(filter(self._may_choose, choices), None)
        return self._choices[upstream, model]

    def _may_choose(self, choice: ModelChoice) -> bool:
        try:
            Upstream.get_for_choice(choice, self._user.pk)
        except Refused:
            return False
        return True
