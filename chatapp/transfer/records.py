"""The neutral records that every export is turned into. Texts are untrusted, but can be stored.

A chat is a tree in which prompts and replies take turns: a reply's parent is its prompt, and a
prompt's parent is the reply before it or None.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import BinaryIO, Literal, Protocol

from chatapp.transfer.export_format import NO_CHAT, NO_MESSAGE, ChatRecord, MessageRecord
from chatapp.upstream.wire.reply import Ending
from chatapp.upstream.wire.sources import Source


class Unreadable(ValueError):
    """Raised for a file that cannot be imported. The message is a sentence for a person."""


class Damaged(Exception):
    """Raised for a file of a message that can't be read from the export."""


class Format(StrEnum):
    """The app that wrote an export. The value is also the `source` of its chats."""

    CHATGPT = "chatgpt"
    CLAUDE = "claude"
    OPEN_WEBUI = "open_webui"
    LIBRECHAT = "librechat"
    GROK = "grok"
    GEMINI = "gemini"
    LLAMA_CPP = "llama_cpp"
    CHATBOX = "chatbox"
    OWN = "chatapp"

    @property
    def label(self) -> str:
        return _LABELS[self]


_LABELS = {
    Format.CHATGPT: "ChatGPT",
    Format.CLAUDE: "Claude",
    Format.OPEN_WEBUI: "Open WebUI",
    Format.LIBRECHAT: "LibreChat",
    Format.GROK: "Grok",
    Format.GEMINI: "Gemini",
    Format.LLAMA_CPP: "llama.cpp",
    Format.CHATBOX: "Chatbox",
    Format.OWN: "this app",
}


class FileContent(Protocol):
    """The source of the bytes of a file. It can be opened while the export is open."""

    def open(self) -> BinaryIO: ...


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of a message. Name and type are what the export says, which may be wrong."""

    name: str
    media_type: str = ""
    size: int | None = None  # bytes
    content: FileContent | None = None
    missing: str = ""  # a sentence that says why there is no content
    alt: str = ""
    pages: tuple[int, int] = (0, 0)  # the first and the last that are sent; zeros for all
    is_expired: bool = False  # retention deleted the content


RunState = Literal["done", "failed", "denied", "cancelled"]


@dataclass(frozen=True, slots=True)
class SourceToolRun:
    id: str
    name: str
    arguments: str
    result: str = ""
    state: RunState = "done"


@dataclass(frozen=True, slots=True)
class SourceRound:
    """A part of a reply that ends with tool calls, if it has any."""

    reasoning: str = ""
    content: str = ""
    tool_runs: tuple[SourceToolRun, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceFeedback:
    rating: Literal["up", "down"]
    note: str = ""
    given_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceMessage:
    """A prompt, which has one round, or a reply."""

    source_id: str  # unique in its chat, and the same in a later export of it
    parent: str | None
    role: Literal["user", "assistant"]
    created_at: datetime | None = None
    rounds: tuple[SourceRound, ...] = (SourceRound(),)
    model: str = ""
    ending: Ending | None = None  # None for prompts
    error: str = ""
    sources: tuple[Source, ...] = ()
    files: tuple[SourceFile, ...] = ()
    reasoning_seconds: float | None = None
    feedback: SourceFeedback | None = None
    is_continuation: bool = False
    is_placeholder: bool = False  # empty, and only there so that prompts and replies take turns
    own: MessageRecord = NO_MESSAGE  # of a reply of our own exports, which have more

    @property
    def content(self) -> str:
        return "\n\n".join(
            source_round.content for source_round in self.rounds if source_round.content
        )

    @property
    def reasoning(self) -> str:
        return "\n\n".join(
            source_round.reasoning for source_round in self.rounds if source_round.reasoning
        )

    @property
    def tool_runs(self) -> tuple[SourceToolRun, ...]:
        return tuple(run for source_round in self.rounds for run in source_round.tool_runs)


@dataclass(frozen=True, slots=True)
class DamagedMessage:
    """A message that is left out or at another place, and why, in a sentence."""

    reason: str
    place: str  # where it is in its chat


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceChat:
    source: Format
    source_id: str  # unique in its source, and the same in a later export
    title: str
    messages: tuple[SourceMessage, ...]  # parents come before their children
    active_leaf: str  # the `source_id` of the message that ends the branch to be shown
    created_at: datetime | None = None
    updated_at: datetime | None = None
    is_archived: bool = False
    is_pinned: bool = False
    folder_id: str = ""  # of a folder or project
    folder: str = ""  # its name, where the export has it
    owner: str = ""  # the id of its account there
    system_prompt: str = ""
    parameters: Mapping[str, object] = field(default_factory=dict)  # by our names
    left_out: Mapping[str, int] = field(default_factory=dict)  # number of parts left out, by kind
    damaged: tuple[DamagedMessage, ...] = ()
    notes: tuple[str, ...] = ()  # sentences about what is different now
    own: ChatRecord = NO_CHAT  # of our own exports, which have more


@dataclass(frozen=True, slots=True)
class SourcePerson:
    """An account in a database of several people."""

    id: str
    name: str
    address: str  # as it is stored; "" if it has none


@dataclass(frozen=True, slots=True)
class Skipped:
    """A chat that could not be read, and why, in a sentence."""

    reason: str
    title: str = ""
    source_id: str = ""
    place: str = ""  # where it is in the export

    @property
    def label(self) -> str:
        """The title of the chat and its place, as far as they are known."""
        return (
            f"{self.title} ({self.place})"
            if self.title and self.place
            else (self.title or self.place)
        )
