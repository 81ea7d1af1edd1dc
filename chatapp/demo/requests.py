"""The body of `POST /v1/chat/completions`: bytes in, a validated `ChatRequest` or a 400 out."""

from typing import Annotated, Any, Literal

import msgspec

from chatapp.demo.errors import ApiError
from chatapp.demo.script import MAX_CHOICES

Role = Literal["developer", "system", "user", "assistant", "tool", "function"]


class ImageURL(msgspec.Struct, frozen=True):
    url: str


class Part(msgspec.Struct, frozen=True):
    """One part of a message's content: a text or an image. Others are ignored."""

    type: str
    text: str = ""
    image_url: ImageURL | None = None


class Message(msgspec.Struct, frozen=True):
    """One message of the conversation."""

    role: Role
    content: str | list[Part] | None = None
    tool_calls: list[Any] | None = None

    @property
    def text(self) -> str:
        """All of its texts."""
        return "".join(self._texts)

    @property
    def question(self) -> str:
        """Its last text, which follows the documents, if it is none itself."""
        return self._texts[-1] if len(self._texts) > len(self.documents) else ""

    @property
    def documents(self) -> list[str]:
        *earlier, last = self._texts or [""]
        return [*earlier, last] if last.startswith("<document-") else earlier

    @property
    def images(self) -> list[str]:
        """The URLs of its images."""
        parts = self.content if isinstance(self.content, list) else []
        return [part.image_url.url for part in parts if part.image_url]

    @property
    def _texts(self) -> list[str]:
        if isinstance(self.content, list):
            return [part.text for part in self.content if part.text]
        return [self.content] if self.content else []


class Function(msgspec.Struct, frozen=True):
    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None


class Tool(msgspec.Struct, frozen=True):
    """A tool that the model may call."""

    function: Function


class StreamOptions(msgspec.Struct, frozen=True):
    include_usage: bool | None = None


class ChatRequest(msgspec.Struct, frozen=True):
    """The fields of a request that the demo reads; all others are accepted and ignored."""

    model: str
    messages: Annotated[list[Message], msgspec.Meta(min_length=1)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: Annotated[int, msgspec.Meta(ge=1, le=MAX_CHOICES)] | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, msgspec.Meta(ge=0, le=20)] | None = None
    tools: list[Tool] | None = None
    service_tier: str | None = None
    temperature: Annotated[float, msgspec.Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    max_tokens: Annotated[int, msgspec.Meta(ge=1)] | None = None
    max_completion_tokens: Annotated[int, msgspec.Meta(ge=1)] | None = None
    reasoning_effort: str | None = None
    web_search_options: dict[str, Any] | None = None

    @property
    def max_output(self) -> int | None:
        return self.max_completion_tokens or self.max_tokens

    @property
    def functions(self) -> list[Function]:
        return [tool.function for tool in self.tools or ()]


def parse_chat_request(body: bytes) -> ChatRequest:
    """Decode the request in `body`. Raises `ApiError` 400 for invalid JSON or fields."""
    try:
        return msgspec.json.decode(body, type=ChatRequest)
    except msgspec.ValidationError as error:
        raise ApiError(400, f"The request is not valid: {error}.", code="invalid_value") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        message = f"We could not parse the JSON body of your request: {error}."
        raise ApiError(400, message, code="invalid_json") from error
