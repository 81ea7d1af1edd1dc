"""The records of our own export of chats, which docs/export-format.md describes.

Both ways go through these classes: `chatapp.exports.formats.json_lines` fills and encodes them, and
`formats.own` reads them. A field without a default is always written, any other only if it has a
value. So a new field is added here, and where it is filled and used.
"""

from collections import Counter
from typing import Any

from chatapp.transfer.record_reading import (
    Choice,
    Extras,
    FailedModels,
    Id,
    Instructions,
    Line,
    Moderation,
    Moment,
    Parameters,
    Record,
)

VERSION = 1


class PresetRecord(Record):
    """A version of a preset, with what a chat has of it if the person may read that."""

    name: str
    version: int
    system_prompt: str | None = None
    parameters: Parameters | None = None


class ModelSettingsRecord(Record):
    """The settings in which a model of a chat departs from it."""

    upstream: Line
    model: Line
    system_prompt: Instructions | None = None
    # None as a parameter means that the model isn't sent what the chat has.
    parameters: dict[str, object] | None = None

    @property
    def own(self) -> dict[str, object]:
        """The settings as `ChatSettings.by_model` has them."""
        settings = {"system_prompt": self.system_prompt, "parameters": self.parameters}
        return {name: value for name, value in settings.items() if value is not None}


class RequestSettingsRecord(Record):
    """What requests had besides messages."""

    id: Id
    preset: PresetRecord | None
    is_withheld: bool = False  # then the others are absent
    instructions: Instructions | None = None
    files: list[str] | None = None  # names
    parameters: Parameters | None = None


class CutRecord(Record):
    """A part of a chat that models are not sent any more, from the beginning of the chat."""

    through: Id | None  # its last message
    summary: str
    upstream: Line  # whose model wrote the summary
    model: Line
    is_edited: bool
    is_lifted: bool
    created_at: Moment


class ToolCallRecord(Record):
    id: Id
    name: Line
    arguments: str
    state: str
    result: str
    images: list[str] = []  # ids


class RoundRecord(Record):
    """One of several rounds of a reply: text that ends with tool calls, but for the last."""

    reasoning: str = ""
    content: str = ""
    tool_calls: list[ToolCallRecord] = []


class ErrorRecord(Record):
    kind: str
    message: str


class UsageRecord(Record):
    provenance: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: str = ""

    @property
    def as_imported(self) -> dict[str, Any]:
        """The tokens as `Extras.imported_usage` has them: without the cost, if they are known."""
        tokens = {name: getattr(self, name) for name in TOKENS if getattr(self, name) is not None}
        is_known = tokens and self.provenance in ("reported", "estimated")
        return {"provenance": self.provenance, **tokens} if is_known else {}


TOKENS = tuple(name for name in UsageRecord.__struct_fields__ if name.endswith("_tokens"))


class FeedbackRecord(Record):
    rating: str
    note: str
    given_at: Moment


class FileRecord(Record):
    """A file of a prompt, or an image of a reply, without its bytes."""

    id: Id
    name: str = ""
    type: str = ""
    size: int | None = None
    alt: str = ""
    pages: list[int] = []  # the first and the last that are sent
    is_expired: bool = False
    path: str = ""  # in the archive; only in its `files.json`


class MessageRecord(RoundRecord, kw_only=True):
    id: Id
    parent: Id | None = None
    role: str
    created_at: Moment
    deleted_at: str | None = None
    is_continuation: bool = False
    rounds: list[RoundRecord] = []  # if there are several
    # What came with the text of a reply
    extras: Extras = {}
    upstream: str = ""  # its name
    model: Line = ""
    request_settings: Id = ""
    failed_models: FailedModels = []
    choice: Choice = 0
    ending: str = ""
    is_incomplete: bool = False
    finish_reason: Line = ""
    error: ErrorRecord | None = None
    moderation: Moderation = None
    time_to_first_token: float | None = None  # seconds
    reasoning_duration: float | None = None
    duration: float | None = None
    usage: UsageRecord | None = None
    feedback: FeedbackRecord | None = None
    files: list[FileRecord] = []
    images: list[FileRecord] = []

    @property
    def imported_usage(self) -> dict[str, Any]:
        """The tokens of a reply where it was written first."""
        usage = self.usage or UsageRecord.read(self.extras.get("imported_usage"), Counter())
        return usage.as_imported


class ChatRecord(Record):
    version: int
    id: Id
    title: Line
    created_at: Moment
    updated_at: Moment
    archived_at: Moment | None
    trashed_at: str | None
    is_pinned: bool
    is_temporary: bool
    imported_from: str
    project: Line | None
    active_leaf: Id | None
    preset: PresetRecord | None
    system_prompt: str | None
    parameters: Parameters | None
    model_settings: list[ModelSettingsRecord]
    left_out: list[CutRecord] = []
    # Written piece by piece, since they may be long
    request_settings: list[RequestSettingsRecord] = []
    messages: list[MessageRecord] = []

    @property
    def requests(self) -> dict[str, RequestSettingsRecord]:
        """The settings of requests by their ids, without those that are withheld or empty."""
        return {
            settings.id: settings
            for settings in reversed(self.request_settings)
            if settings.id and (settings.instructions or settings.parameters)
        }


NO_CHAT = ChatRecord.read({}, Counter())
NO_MESSAGE = MessageRecord.read({}, Counter())
