"""Checks the body of `POST /chat/completions` and takes it apart.

Types and bounds are checked here; what an administrator allows is applied later, as for chats.
Further members of messages and tools are passed on, since gateways have their own.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
from django.conf import settings

from chatapp.api.data_urls import Body, DataUrl, SplitBody, TooMuchText
from chatapp.api.files import UnreadFile
from chatapp.api.large_bodies import max_text_bytes
from chatapp.api.responses import ApiError
from chatapp.api.saved_chats import TOOLS, build_chat
from chatapp.models.conversations.turns.api_chats import ApiChat
from chatapp.models.platform.image_sizes import read_size
from chatapp.parameters.table import PARAMETERS
from chatapp.parameters.values import InvalidParameters, clean_parameters
from chatapp.text.file_names import clean_file_name
from chatapp.upstream.wire.decoding.decoder import MAX_CHOICES
from chatapp.upstream.wire.images import detect_media_type
from chatapp.upstream.wire.requests.content import EncodedPart, ImagePart
from chatapp.upstream.wire.requests.dialects import ChatMessage
from chatapp.upstream.wire.requests.history import History

MAX_MESSAGES = 2048
MAX_TOOLS = 128
MAX_DEPTH = 32
UNKNOWN_SIZE = (2048, 2048)  # assumed of an image whose header does not say
HEADER_BYTES = 1024 * 1024  # of an image, in which its size is looked for

IMAGES = "Images must be data URLs of a PNG, JPEG, GIF or WebP image in base64."
PARTS = "A message can have parts of the types “text”, “image_url” and “file”."
FILES = "Files must be data URLs in base64, in the member “file_data”."
TOO_MANY_FILES = "A request can have {} files at most."
MISPLACED = "A data URL of this length can only be an image or a file of a message."
TOO_MUCH_TEXT = "Apart from images and files, a request can have {:,} bytes at most."
TOO_DEEP = f"JSON can be nested {MAX_DEPTH} levels deep at most."
TOO_LONG = "A user's message can have {:,} characters at most."
UNSUPPORTED_PARAMETERS = {
    "audio": "This server returns no audio. Leave “audio” and “modalities” out.",
    "functions": "Use “tools” in place of “functions”.",
    "function_call": "Use “tool_choice” in place of “function_call”.",
}


class _Url(msgspec.Struct):
    url: str


class _File(msgspec.Struct):
    file_data: str | None = None
    filename: str | None = None


class _Part(msgspec.Struct):
    type: str
    text: str | None = None
    image_url: _Url | None = None
    file: _File | None = None


class _CalledFunction(msgspec.Struct):
    name: str
    arguments: str


class _Call(msgspec.Struct):
    id: str
    function: _CalledFunction


class _Message(msgspec.Struct):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[_Part] | None = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str | None = None


class _Function(msgspec.Struct):
    name: str


class _Tool(msgspec.Struct):
    type: Literal["function"]
    function: _Function


class _StreamOptions(msgspec.Struct):
    include_usage: bool | None = None


class _Body(msgspec.Struct):
    model: Annotated[str, msgspec.Meta(min_length=1)]
    messages: Annotated[list[_Message], msgspec.Meta(min_length=1, max_length=MAX_MESSAGES)]
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    n: Annotated[int, msgspec.Meta(ge=1, le=MAX_CHOICES)] | None = None
    store: bool | None = None
    tools: Annotated[list[_Tool], msgspec.Meta(max_length=MAX_TOOLS)] | None = None
    tool_choice: str | dict[str, Any] | None = None


@dataclass(frozen=True)
class ChatRequest:
    """A checked body."""

    model: str
    history: History
    parameters: Mapping[str, object]  # as a chat sets them
    tools: Sequence[Mapping[str, object]]
    tool_choice: object
    choices: int
    is_streamed: bool
    includes_usage: bool
    chat: ApiChat | None  # to be saved

    @classmethod
    def of(cls, data: Body) -> "ChatRequest":
        """Take a body apart. Raises `ApiError`."""
        try:
            split_body = SplitBody.of(data, max_size := max_text_bytes())
            raw, body = _decode_body(split_body)
        except TooMuchText as error:
            raise ApiError(413, TOO_MUCH_TEXT.format(max_size), "request_too_large") from error
        if body.store:
            raw.pop("metadata", None)  # which OpenAI keeps beside a saved answer
        options, parameters = body.stream_options, _parameters(raw)
        return cls(
            model=body.model,
            history=_HistoryBuilder(split_body.urls, bool(body.store)).build(
                raw["messages"], body.messages
            ),
            parameters=parameters,
            tools=raw.get("tools") or (),
            tool_choice=body.tool_choice,
            choices=body.n or 1,
            is_streamed=bool(body.stream),
            includes_usage=bool(options and options.include_usage),
            chat=_chat(raw, parameters) if body.store else None,
        )


def _decode_body(split_body: SplitBody) -> tuple[dict[str, Any], _Body]:
    try:
        raw = msgspec.json.decode(split_body.json)
        _check_depth(raw, MAX_DEPTH)
        if split_body.urls:
            raw = split_body.put_back(raw)
        return raw, msgspec.convert(raw, _Body)
    except msgspec.ValidationError as error:
        message, _, place = str(error).partition(" - at ")
        param = place.strip("`").removeprefix("$").removeprefix(".") or None
        raise ApiError(400, f"{message}.", "invalid_value", param) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ApiError(400, f"The body isn't JSON: {error}.", "invalid_json") from error
    except RecursionError as error:
        raise ApiError(400, TOO_DEEP, "invalid_json") from error


def _chat(raw: dict[str, Any], parameters: Mapping[str, object]) -> ApiChat:
    if raw.get("tools"):
        raise ApiError(400, TOOLS, "unsupported_with_store", "store")
    return build_chat(raw["messages"], parameters)


def _check_depth(value: object, depth: int) -> None:
    if isinstance(value, dict | list):
        if not depth:
            raise RecursionError
        for member in value.values() if isinstance(value, dict) else value:
            _check_depth(member, depth - 1)


class _HistoryBuilder:
    """Collects messages as they are sent, with the images and files among them."""

    def __init__(self, urls: Mapping[str, DataUrl], is_saved: bool) -> None:
        self._urls = dict(urls)  # by mark
        # A chat holds no longer prompt. Another request may have what a person would attach.
        max_characters = settings.CHATAPP_MAX_PROMPT_CHARACTERS
        self._max_characters = (
            max_characters if is_saved else max_characters + settings.CHATAPP_FILE_CHARACTERS
        )
        self._images: list[ImagePart] = []
        self._file_count = 0

    def build(self, raw: list[dict[str, Any]], messages: list[_Message]) -> History:
        """Return the history. Raises `ApiError` if a message can't be sent."""
        sent: list[ChatMessage] = []
        for number, (raw_message, message) in enumerate(zip(raw, messages, strict=True)):
            place = f"messages[{number}].content"
            if message.role == "user":
                self._check_length(message, place)
            if isinstance(message.content, list):
                parts = zip(raw_message["content"], message.content, strict=True)
                raw_message = {**raw_message, "content": list(self._parts(parts, place))}
            sent.append(raw_message)
        if self._urls:
            raise ApiError(400, MISPLACED, "invalid_value")
        return History.from_ordered(sent, self._images)

    def _check_length(self, message: _Message, place: str) -> None:
        content, max_characters = message.content or "", self._max_characters
        texts = [content] if isinstance(content, str) else [part.text or "" for part in content]
        if sum(map(len, texts)) > max_characters:
            raise ApiError(400, TOO_LONG.format(max_characters), "string_above_max_length", place)

    def _parts(self, parts: Iterator[tuple[dict[str, Any], _Part]], place: str) -> Iterator[object]:
        for raw, part in parts:
            if part.type == "text" and part.text is not None:
                yield raw
            elif part.type == "image_url" and part.image_url:
                yield self._image(raw, part.image_url.url, place)
            elif part.type == "file" and part.file:
                yield self._file(part.file, place)
            else:
                raise ApiError(400, PARTS, "unsupported_content", place)

    def _image(self, raw: dict[str, Any], url_text: str, place: str) -> EncodedPart:
        url = self._urls.pop(url_text, None)
        image = _describe_image(url or DataUrl.of_text(url_text))
        if image is None:
            raise ApiError(400, IMAGES, "invalid_image", place)
        self._images.append(image)
        return url.encode_part(raw, url_text) if url else EncodedPart(msgspec.json.encode(raw))

    def _file(self, sent_file: _File, place: str) -> UnreadFile:
        data = sent_file.file_data or ""
        url = self._urls.pop(data, None) or DataUrl.of_text(data)
        if url is None:
            raise ApiError(400, FILES, "invalid_file", place)
        self._file_count += 1
        if self._file_count > (max_files := settings.CHATAPP_FILES_PER_MESSAGE):
            raise ApiError(400, TOO_MANY_FILES.format(max_files), "too_many_files", place)
        return UnreadFile(clean_file_name(sent_file.filename or ""), url, place)


def _describe_image(url: DataUrl | None) -> ImagePart | None:
    """Return what is known of an image; None if it isn't one."""
    if url is None or not url.media_type.startswith("image/"):
        return None
    start, size = b"", 0
    try:
        for piece in url.pieces():
            size += len(piece)
            if len(start) < HEADER_BYTES:
                start += piece
    except ValueError:
        return None
    media_type = detect_media_type(start)
    if not media_type:
        return None
    width, height = read_size(media_type, start) or UNKNOWN_SIZE
    return ImagePart("", media_type, width, height, size)


def _parameters(raw: Mapping[str, Any]) -> dict[str, object]:
    """Return what the body sets, as the parameters of a chat."""
    members = {
        name: value
        for name, value in raw.items()
        if name not in _Body.__struct_fields__ and value is not None
    }
    for name, sentence in UNSUPPORTED_PARAMETERS.items():
        if name in members:
            raise ApiError(400, sentence, "unsupported_parameter", name)
    parameters: dict[str, object] = {
        name: members.pop(name) for name in list(members) if name in PARAMETERS and name != "extra"
    }
    for name in ("max_tokens", "max_completion_tokens"):
        if name in members:
            parameters["max_output_tokens"] = members.pop(name)
    if isinstance(stop := parameters.get("stop"), str):
        parameters["stop"] = [stop]
    if members.pop("web_search_options", None) is not None:
        parameters["web_search"] = True
    if isinstance(parameters.get("response_format"), dict):
        parameters["response_format"] = _format(raw["response_format"])
    if members:
        parameters["extra"] = members
    try:
        return clean_parameters(parameters)
    except InvalidParameters as invalid:
        name, sentence = next(iter(invalid.errors.items()))
        raise ApiError(400, sentence, "invalid_value", name or None) from invalid


def _format(response_format: Mapping[str, Any]) -> dict[str, object]:
    described = response_format.get("json_schema")
    if response_format.get("type") != "json_schema" or not isinstance(described, dict):
        return dict(response_format)
    schema_members = {name: described[name] for name in ("schema", "strict") if name in described}
    return {"type": "json_schema", **schema_members}
