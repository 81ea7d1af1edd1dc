"""Errors about requests that are too long for a model, in the words of real gateways."""

import pytest

from chatapp.upstream.wire.errors.upstream_error import ErrorKind, UpstreamError, error_of_response

TOO_LONG = {
    "OpenAI": (
        "This model's maximum context length is 128000 tokens. However, your messages resulted in "
        "130518 tokens. Please reduce the length of the messages.",
        128_000,
    ),
    "OpenAI, completions": (
        "This model's maximum context length is 8191 tokens, however you requested 10346 tokens "
        "(10346 in your prompt; 5 for the completion). Please reduce your prompt; or completion "
        "length.",
        8191,
    ),
    "OpenAI, responses": (
        "Your input exceeds the context window of this model. Please adjust your input and try "
        "again.",
        None,
    ),
    "Azure": (
        "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in "
        "301213 tokens. Please reduce the length of the messages.",
        272_000,
    ),
    "Anthropic": ("prompt is too long: 213456 tokens > 200000 maximum", 200_000),
    "Anthropic, with the answer": (
        "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease "
        "input length or `max_tokens` and try again",
        200_000,
    ),
    "Bedrock": ("ValidationException: Input is too long for requested model.", None),
    "Bedrock, Titan": (
        "400 Bad Request: Too many input tokens. Max input tokens: 8192, request input token "
        "count: 9279 ",
        8192,
    ),
    "Gemini": (
        "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
        1_048_575,
    ),
    "Gemini, without the count": (
        "The input token count exceeds the maximum number of tokens allowed (1048576).",
        1_048_576,
    ),
    "Vertex AI": (
        "Unable to submit request because the input token count is 40211 but model only supports "
        "up to 32768. Reduce the input token count and try again.",
        32_768,
    ),
    "Mistral": (
        "Prompt contains 140000 tokens and 0 draft tokens, too large for model with 128000 maximum "
        "context length",
        128_000,
    ),
    "Groq": ("Please reduce the length of the messages or completion.", None),
    "Together, SGLang": (
        "The input (516368 tokens) is longer than the model's context length (262144 tokens).",
        262_144,
    ),
    "SGLang": (
        "Requested token count exceeds the model's maximum context length of 8192 tokens. You "
        "requested a total of 9000 tokens.",
        8192,
    ),
    "SGLang, input": (
        "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.",
        131_040,
    ),
    "DeepSeek": (
        "This model's maximum context length is 65536 tokens. However, you requested 94217 tokens "
        "(94217 in the messages, 0 in the completion). Please reduce the length of the messages or "
        "completion.",
        65_536,
    ),
    "vLLM": (
        "This model's maximum context length is 200 tokens. However, your request has 203 input "
        "tokens. Please reduce the length of the input messages. None",
        None,  # less than any real model has
    ),
    "vLLM, with the answer": (
        "'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum context "
        "length is 8192 tokens and your request has 4000 input tokens (5000 > 8192 - 4000).",
        8192,
    ),
    "vLLM, engine": (
        "The decoder prompt (length 71013) is longer than the maximum model length of 65536. Make "
        "sure that `max_model_len` is no smaller than the number of text tokens.",
        65_536,
    ),
    "llama.cpp": (
        "request (9412 tokens) exceeds the available context size (8192 tokens), try increasing it",
        8192,
    ),
    "llama.cpp in 2025": (
        "the request exceeds the available context size. try increasing the context size or enable "
        "context shift",
        None,
    ),
    "llama.cpp, in the stream": ("Context size has been exceeded.", None),
    "Ollama": ("prompt too long; exceeded max context length by 1234 tokens", None),
    "Ollama, input": ("the input length exceeds the context length", None),
    "LM Studio": (
        "Trying to keep the first 9000 tokens when context the overflows. However, the model is "
        "loaded with context length of only 4096 tokens, which is not enough.",
        4096,
    ),
    "LM Studio in 2026": (
        "The number of tokens to keep from the initial prompt is greater than the context length "
        "(n_keep: 9000 >= n_ctx: 4096). Try to load the model with a larger context length.",
        4096,
    ),
    "LM Studio, older": ("Input length 1581 exceeds context length 1500", 1500),
    "TGI": (
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 65537. Given: 79993 "
        "`inputs` tokens and 1024 `max_new_tokens`",
        65_537,
    ),
    "TGI, input": (
        "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000",
        4096,
    ),
    "LiteLLM": (
        "litellm.BadRequestError: litellm.ContextWindowExceededError: AnthropicError - "
        '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: '
        '209353 tokens > 199999 maximum"}}',
        199_999,
    ),
    "LiteLLM, without words": ("litellm.ContextWindowExceededError: OpenAIException", None),
    "OpenRouter": (
        "This endpoint's maximum context length is 131072 tokens. However, you requested about "
        "148000 tokens (130000 of text input, 18000 in the output). Please reduce the length of "
        "either one",
        131_072,
    ),
    "OpenRouter, tools": (
        "This endpoint's maximum context length is 131072 tokens. However, you requested about "
        "148000 tokens (130000 of text input, 18000 of tool input).",
        131_072,
    ),
    "Qwen": (
        "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]",
        129_024,
    ),
    "Cohere": (
        "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292. "
        "Try using a shorter prompt, or enabling prompt truncating.",
        4081,
    ),
    "Cohere, by": ("too many tokens: size limit exceeded by 12345 tokens", None),
    "xAI": (
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        131_072,
    ),
    "GitHub Copilot": ("prompt token count of 140000 exceeds the limit of 128000", 128_000),
    "Moonshot": (
        "Invalid request: Your request exceeded model token limit: 262144 (requested: 271818)",
        262_144,
    ),
    "MiniMax": ("invalid params, context window exceeds limit (2013)", None),
    "Replicate": (
        "Your input is too long. Max input length is 4096 tokens, but you supplied 5441 tokens.",
        4096,
    ),
    "Fireworks": ("The prompt is too long: 40000, model maximum context length: 32767", 32_767),
    "Cloudflare": (
        "The estimated number of input and maximum output tokens (8196) exceeded this model "
        "context window limit (7968).",
        7968,
    ),
    "DS4": ("Prompt has 32769 tokens, but the configured context size is 32768 tokens", 32_768),
    "MLX": ("Prompt exceeds maximum context length", None),
    "with commas": ("This model's maximum context length is 128,000 tokens.", 128_000),
}
BY_CODE = {
    "OpenAI": ("invalid_request_error", "context_length_exceeded"),
    "llama.cpp": ("exceed_context_size_error", "400"),
    "GitHub Copilot": ("", "model_max_prompt_tokens_exceeded"),
}
SOMETHING_ELSE = [
    "Rate limit reached for gpt-4o in organization org-x on tokens per minute (TPM): Limit 30000, "
    "Used 28000, Requested 4000. Please try again in 4s.",
    "Request too large for model `llama-3.1-8b-instant` on tokens per minute (TPM): Limit 6000, "
    "Requested 9000, please reduce your message size and try again.",
    "This request would exceed your organization's rate limit of 30,000 input tokens per minute. "
    "Please reduce the prompt length or the maximum tokens requested.",
    "max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens for "
    "claude-3-5-sonnet-20241022",
    "max_tokens is too large: 100000. This model supports at most 16384 completion tokens, "
    "whereas you provided 100000.",
    "The maximum tokens you requested exceeds the model limit of 2048. Try again with a maximum "
    "tokens value that is lower than 2048.",
    "'max_tokens' or 'max_completion_tokens' is too large: 1000. This model's maximum context "
    "length is 1000 tokens and your request has 203 input tokens (1000 > 1000 - 203).",
    "Range of max_tokens should be [1, 8192]",
    "too many tokens: max tokens must be less than or equal to 4096",
    "messages.1.content.0.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > "
    "5242880 bytes",
    "Request exceeds the maximum allowed number of bytes.",
    "Invalid 'messages[0].content': string too long. Expected a string with maximum length "
    "1048576, but got a string with length 2000000 instead.",
    "The file is too large: 120 MB. The limit is 100 MB.",
    "The long context beta is not yet available for this subscription.",
    "Unsupported parameter: context. Remove it and try again.",
    "You exceeded your current quota, please check your plan and billing details.",
]


def build_error(message: str, status: int | None = 400) -> UpstreamError:
    return UpstreamError(ErrorKind.BAD_REQUEST, message, status)


@pytest.mark.parametrize("gateway", TOO_LONG)
def test_a_request_that_is_too_long_is_recognised(gateway: str) -> None:
    message, window = TOO_LONG[gateway]
    error = build_error(message)
    assert error.exceeds_context
    assert error.context_tokens == window
    assert not error.refuses_images
    assert not error.refuses_parts
    assert not error.refuses_system


@pytest.mark.parametrize("gateway", BY_CODE)
def test_a_code_alone_suffices(gateway: str) -> None:
    error = UpstreamError(ErrorKind.BAD_REQUEST, "Bad request", 400, *BY_CODE[gateway])
    assert error.exceeds_context
    assert error.context_tokens is None


@pytest.mark.parametrize("message", SOMETHING_ELSE)
def test_another_limit_says_nothing_about_the_context(message: str) -> None:
    assert not build_error(message).exceeds_context


@pytest.mark.parametrize("status", [401, 403, 408, 429])
def test_a_status_with_another_meaning_is_no_refusal(status: int) -> None:
    assert not build_error(TOO_LONG["OpenAI"][0], status).exceeds_context


@pytest.mark.parametrize("status", [None, 413, 422, 500])
def test_other_servers_say_it_with_other_statuses_or_in_the_stream(status: int | None) -> None:
    assert build_error(TOO_LONG["llama.cpp"][0], status).exceeds_context


def test_the_size_is_read_from_llama_cpps_own_field() -> None:
    body = (
        b'{"error": {"code": 400, "message": "the request exceeds the available context size, try '
        b'increasing it", "type": "exceed_context_size_error", "n_prompt_tokens": 5000, "n_ctx": '
        b"4096}}"
    )
    error = error_of_response(400, {}, body)
    assert error.exceeds_context
    assert error.context_tokens == 4096


def test_a_provider_behind_openrouter_is_understood() -> None:
    body = (
        b'{"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": "Input '
        b'is too long for requested model", "provider_name": "Amazon Bedrock"}}}'
    )
    assert error_of_response(400, {}, body).exceeds_context
