"""Errors about images and lists of parts, in the words of real gateways."""

import pytest

from chatapp.upstream.wire.errors.upstream_error import ErrorKind, UpstreamError

NO_IMAGES = {
    "OpenAI, Azure": "Invalid content type. image_url is only supported by certain models.",
    "OpenRouter": "No endpoints found that support image input",
    "vLLM": "facebook/opt-125m is not a multimodal model None",
    "vLLM, no images allowed": "At most 0 image(s) may be provided in one prompt.",
    "llama.cpp": "image input is not supported - hint: if this is unexpected, you may need to "
    "provide the mmproj",
    "llama.cpp in 2025": "image input is not supported by this server",
    "llama.cpp, older": 'Failed to parse messages: Unsupported content part type: "image_url"; '
    "messages = [",
    "Ollama": "this model does not support image input (ref: b8bd630e-4a39-4b57-82af-9158ee9d5703)",
    "Ollama, local": "Failed to create new sequence: this model is missing data required for "
    "image input",
    "DeepSeek": "Failed to deserialize the JSON body into the target type: messages[7]: unknown "
    "variant `image_url`, expected `text` at line 1 column 114708",
    "DeepSeek, older": "Failed to deserialize the JSON body into the target type: messages[2]: "
    "data did not match any variant of untagged enum ChatCompletionRequestContent at line 1",
    "LiteLLM": "litellm.BadRequestError: VertexAIException - This model does not support images",
    "Mistral": "Image input is not enabled for this model",
    "xAI": "Image inputs are not supported by this model.",
    "Anthropic": "'claude-2.1' does not support image input.",
    "Bedrock": "This model doesn't support the image content block that you provided. Remove it.",
    "Gemini": "Image input modality is not enabled for models/gemma-3-1b-it",
    "DashScope": "[Unexpected item type in content]",
    "a server on pydantic": "body.messages.0.content.list[TextContentPart].0.type: Input should "
    "be 'text'",
    "LM Studio": "Model does not support images. Please use a model that does.",
}
ABOUT_ONE_IMAGE = [
    "Invalid parameter: 'messages[0].content[1].image_url'. Expected a valid URL",
    "Invalid request: prepare image failed error: failed to decode image: invalid or unsupported "
    "image format",
    "The image data you provided does not represent a valid image.",
    "This model does not support image URLs, only base64.",
    "We do not support images larger than 20 MB.",
    "You uploaded an unsupported image. Please make sure your image is below 20 MB in size.",
    "No endpoints found that support tool use.",
    "Missing required parameter: messages",
]
ONLY_TEXT = {
    "Groq": "messages[0].content must be a string",
    "Groq, older": "'messages.0' : for 'role:system' the following must be satisfied"
    "[('messages.0.content' : value must be a string)]",
    "DeepSeek, older": "Failed to deserialize the JSON body into the target type: messages[2]: "
    "invalid type: sequence, expected a string at line 1 column 2901",
    "pydantic": "body.messages.0.content: Input should be a valid string",
    "pydantic 1": "body.messages.0.content: str type expected",
    "Go": "json: cannot unmarshal array into Go struct field Message.messages.content of type "
    "string",
    "a chat template": 'can only concatenate str (not "list") to str',
    "Java": "Cannot deserialize value of type `java.lang.String` from Array value (token "
    "`JsonToken.START_ARRAY`)",
    "Zod": "messages.0.content: Expected string, received array",
}


def build_error(message: str, status: int | None = 400) -> UpstreamError:
    return UpstreamError(ErrorKind.BAD_REQUEST, message, status)


@pytest.mark.parametrize("gateway", NO_IMAGES)
def test_a_refusal_of_images_is_recognised(gateway: str) -> None:
    error = build_error(NO_IMAGES[gateway])
    assert error.refuses_images
    assert not error.refuses_parts
    assert not error.refuses_tools
    assert not error.refuses_system


@pytest.mark.parametrize("message", ABOUT_ONE_IMAGE)
def test_an_error_about_something_else_says_nothing_about_the_model(message: str) -> None:
    error = build_error(message)
    assert not error.refuses_images
    assert not error.refuses_parts


@pytest.mark.parametrize("gateway", ONLY_TEXT)
def test_a_refusal_of_parts_is_recognised(gateway: str) -> None:
    error = build_error(ONLY_TEXT[gateway])
    assert error.refuses_parts
    assert not error.refuses_images


@pytest.mark.parametrize("status", [401, 403, 413, 429])
def test_a_status_with_another_meaning_is_no_refusal(status: int) -> None:
    assert not build_error(NO_IMAGES["OpenRouter"], status).refuses_images
    assert not build_error(ONLY_TEXT["Groq"], status).refuses_parts


def test_an_error_after_status_200_can_refuse_images() -> None:
    assert build_error(NO_IMAGES["OpenRouter"], None).refuses_images
