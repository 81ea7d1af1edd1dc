"""Errors that refuse a request parameter, in the words of real gateways.

They are quoted from the issue trackers of clients and gateways; those marked `recalled` are from
memory.
"""

import json
from typing import Any, NamedTuple

import httpx
import pytest

from chatapp.upstream.wire.errors.parameter_refusals import ParameterRefusal, find_refusal
from chatapp.upstream.wire.errors.upstream_error import error_of_frame, error_of_response

# What a chat may have sent, in several spellings.
SENT = (
    *("temperature", "top_p", "max_tokens", "reasoning_effort", "stop", "seed", "response_format"),
    *("logprobs", "top_logprobs", "web_search_options", "top_k", "presence_penalty"),
)
PARAMETER, VALUE = False, True


class Case(NamedTuple):
    body: Any  # or the message alone
    fields: str
    of_value: bool
    status: int = 400
    sent: tuple[str, ...] = SENT


def openai(message: str, param: str | None = None, code: str | None = None) -> dict[str, Any]:
    type = "invalid_request_error"
    return {"error": {"message": message, "type": type, "param": param, "code": code}}


CASES = {
    "OpenAI, a parameter": Case(
        openai(
            "Unsupported parameter: 'temperature' is not supported with this model.",
            "temperature",
            "unsupported_parameter",
        ),
        "temperature",
        PARAMETER,
    ),
    "OpenAI, the default only": Case(
        openai(
            "Unsupported value: 'temperature' does not support 0.2 with this model. Only the "
            "default (1) value is supported.",
            "temperature",
            "unsupported_value",
        ),
        "temperature",
        PARAMETER,
    ),
    "OpenAI, another spelling": Case(
        openai(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead.",
            "max_tokens",
            "unsupported_parameter",
        ),
        "max_tokens",
        PARAMETER,
        sent=("max_tokens", "max_completion_tokens"),
    ),
    "OpenAI, an unknown parameter": Case(
        openai(
            "Unknown parameter: 'web_search_options'.", "web_search_options", "unknown_parameter"
        ),
        "web_search_options",
        PARAMETER,
    ),
    "OpenAI, a format": Case(
        openai(
            "Invalid parameter: 'response_format' of type 'json_schema' is not supported with "
            "this model. Learn more about supported models at the Structured Outputs guide: "
            "https://platform.openai.com/docs/guides/structured-outputs"
        ),
        "response_format",
        VALUE,
    ),
    "OpenAI, a part of a format": Case(
        openai(
            "Unknown parameter: 'response_format.schema'.",
            "response_format.schema",
            "unknown_parameter",
        ),
        "response_format",
        VALUE,
    ),
    "OpenAI, effort": Case(  # recalled
        openai(
            "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. "
            "Supported values are: 'low', 'medium', and 'high'.",
            "reasoning_effort",
            "unsupported_value",
        ),
        "reasoning_effort",
        VALUE,
    ),
    "OpenAI, out of range": Case(  # recalled
        openai(
            "Invalid 'top_logprobs': integer above maximum value. Expected a value <= 20, but got "
            "30 instead.",
            "top_logprobs",
            "integer_above_max_value",
        ),
        "top_logprobs",
        VALUE,
    ),
    "OpenAI through LiteLLM, within an object": Case(
        openai(
            "litellm.BadRequestError: OpenAIException - Unsupported parameter: "
            "'reasoning.effort' is not supported with this model. Received Model Group=gpt-4o",
        ),
        "reasoning",
        PARAMETER,
        sent=("reasoning", "temperature"),
    ),
    "Azure": Case(
        openai("Unrecognized request argument supplied: logprobs"), "logprobs", PARAMETER
    ),
    "Azure, another spelling": Case(
        openai("Unrecognized request argument supplied: max_completion_tokens"),
        "max_completion_tokens",
        PARAMETER,
        sent=("max_completion_tokens", "temperature"),
    ),
    "Anthropic, deprecated": Case(
        {
            "type": "error",
            "error": {
                "type": "invalid_request_error",
                "message": "`temperature` is deprecated for this model.",
            },
        },
        "temperature",
        PARAMETER,
    ),
    "Anthropic, two at once": Case(
        "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
        "top_p",
        VALUE,
    ),
    "Anthropic, thinking": Case(
        "`temperature` may only be set to 1 when thinking is enabled. Please consult our "
        "documentation at https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking",
        "temperature",
        VALUE,
    ),
    "Anthropic, range": Case("temperature: range: -1 or 0..1", "temperature", VALUE),
    "Anthropic, output": Case(  # recalled
        "max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens for "
        "claude-3-5-sonnet-20241022",
        "max_tokens",
        VALUE,
    ),
    "Gemini": Case(
        [
            {
                "error": {
                    "code": 400,
                    "message": 'Invalid JSON payload received. Unknown name "presence_penalty": '
                    'Cannot find field.\nInvalid JSON payload received. Unknown name "seed": '
                    "Cannot find field.",
                    "status": "INVALID_ARGUMENT",
                }
            }
        ],
        "presence_penalty seed",
        PARAMETER,
    ),
    "Vertex AI": Case(
        "Unable to submit request because Logprobs is not supported for this model.",
        "logprobs",
        PARAMETER,
    ),
    "Vertex AI, range": Case(  # recalled
        "Unable to submit request because it has a maxOutputTokens value of 100000 but the "
        "supported range is from 1 (inclusive) to 65537 (exclusive). Update the value and try "
        "again.",
        "max_tokens",
        VALUE,
    ),
    "Mistral": Case(
        {
            "object": "error",
            "message": {
                "detail": [
                    {
                        "type": "extra_forbidden",
                        "loc": ["body", "max_completion_tokens"],
                        "msg": "Extra inputs are not permitted",
                        "input": 32000,
                    }
                ]
            },
            "type": "invalid_request_error",
            "param": None,
            "code": None,
        },
        "max_completion_tokens",
        PARAMETER,
        status=422,
        sent=("temperature", "max_completion_tokens"),
    ),
    "Mistral, effort": Case(  # recalled: the issue quotes the allowed values only
        {
            "object": "error",
            "message": "reasoning_effort must be one of ['low', 'high', 'max'] for this model",
            "type": "invalid_request_error",
        },
        "reasoning_effort",
        VALUE,
    ),
    "Groq": Case(
        openai("property 'reasoning_effort' is unsupported, did you mean 'reasoning_format'?"),
        "reasoning_effort",
        PARAMETER,
    ),
    "Groq, effort": Case(
        openai("`reasoning_effort` must be one of `none` or `default`"), "reasoning_effort", VALUE
    ),
    "Groq, effort of another model": Case(
        openai(
            "'reasoning_effort' : value is not one of the allowed values ['none', 'default', "
            "'low', 'medium', 'high']"
        ),
        "reasoning_effort",
        VALUE,
    ),
    "Groq, tools": Case(  # recalled
        openai("json mode cannot be combined with tool/function calling"), "response_format", VALUE
    ),
    "Together": Case(  # recalled
        openai("Input validation error: `temperature` must be strictly positive", "temperature"),
        "temperature",
        VALUE,
        status=422,
    ),
    "Fireworks": Case(
        openai("Extra inputs are not permitted, field: 'top_k', value: 20"), "top_k", PARAMETER
    ),
    "DeepSeek": Case(
        openai(
            "deepseek-reasoner does not support the parameter `temperature`",
            code="invalid_request_error",
        ),
        "temperature",
        PARAMETER,
    ),
    "DeepSeek, range": Case(
        openai("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]"),
        "max_tokens",
        VALUE,
    ),
    "DeepSeek, format": Case(
        openai("deepseek-reasoner does not support Json Output."), "response_format", PARAMETER
    ),
    "DeepSeek, type of format": Case(  # recalled
        openai("This response_format type is unavailable now"), "response_format", VALUE
    ),
    "DeepSeek, logprobs": Case(
        {"detail": "Invalid top_logprobs and logprobs value"}, "top_logprobs logprobs", VALUE
    ),
    "xAI in 2025": Case(
        {
            "code": "Client specified an invalid argument",
            "error": "Argument not supported on this model: presencePenalty",
        },
        "presence_penalty",
        PARAMETER,
    ),
    "xAI": Case(
        {
            "code": "invalid-argument",
            "error": "Model grok-4.20-0309-reasoning does not support parameter reasoningEffort.",
        },
        "reasoning_effort",
        PARAMETER,
    ),
    "xAI, stop": Case(  # recalled
        {"error": "Argument not supported on this model: stop"}, "stop", PARAMETER
    ),
    "Perplexity": Case(
        {
            "error": {
                "message": '["At body -> response_format -> ResponseFormatText -> type: Input '
                "should be 'text'\", \"At body -> response_format -> ResponseFormatJSONSchema -> "
                "type: Input should be 'json_schema'\"]",
                "type": "bad_request",
                "code": 400,
            }
        },
        "response_format",
        VALUE,
    ),
    "Perplexity, output": Case(
        openai("max_tokens must be at least 16 for sonar"), "max_tokens", VALUE
    ),
    "OpenRouter, some parameter": Case(
        {
            "error": {
                "message": "No endpoints found that can handle the requested parameters. To learn "
                "more about provider routing, visit: https://openrouter.ai/docs/provider-routing",
                "code": 404,
            }
        },
        "temperature seed",
        VALUE,
        status=404,
        sent=("temperature", "seed"),
    ),
    "OpenRouter, Bedrock's words": Case(
        {
            "error": {
                "message": "Provider returned error",
                "code": 400,
                "metadata": {
                    "raw": '{"message":"The model returned the following errors: `temperature` '
                    'and `top_p` cannot both be specified for this model."}',
                    "provider_name": "Amazon Bedrock",
                },
            }
        },
        "top_p",
        VALUE,
    ),
    "LiteLLM": Case(
        openai(
            "litellm.UnsupportedParamsError: groq does not support parameters: "
            "['reasoning_effort', 'seed'], for model=openai/gpt-oss-120b. To drop these, set "
            "`litellm.drop_params=True` or for proxy:\n\n`litellm_settings:\n drop_params: "
            "true`\n. \n If you want to use these params dynamically send "
            "allowed_openai_params=['reasoning_effort', 'seed'] in your request."
        ),
        "reasoning_effort seed",
        PARAMETER,
    ),
    "LiteLLM, older": Case(
        openai(
            "litellm.UnsupportedParamsError: anthropic does not support parameters: {'seed': "
            "12345}, for model=claude-3-5-sonnet-20241022. To drop these, set "
            "`litellm.drop_params=True`"
        ),
        "seed",
        PARAMETER,
    ),
    "LiteLLM, while reasoning": Case(
        openai(
            "litellm.UnsupportedParamsError: gpt-5-nano doesn't support temperature=0.1 while "
            "reasoning is active. Only temperature=1 is supported unless reasoning.effort "
            "resolves to 'none', either set explicitly on the request or declared as the model's "
            "default_reasoning_effort. To drop unsupported params set `litellm.drop_params = True`"
        ),
        "temperature",
        VALUE,
    ),
    "vLLM": Case(
        {
            "object": "error",
            "message": "[{'type': 'extra_forbidden', 'loc': ('body', 'top_k'), 'msg': 'Extra "
            "inputs are not permitted', 'input': 20}]",
            "type": "BadRequestError",
            "param": None,
            "code": 400,
        },
        "top_k",
        PARAMETER,
    ),
    "vLLM, range": Case(  # recalled
        {"object": "error", "message": "top_p must be in (0, 1], got 0.0.", "code": 400},
        "top_p",
        VALUE,
    ),
    "vLLM, output": Case(  # recalled
        openai(
            "'max_tokens' or 'max_completion_tokens' is too large: 40000. This model's maximum "
            "context length is 8192 tokens and your request has 50 input tokens (40000 > 8192 - "
            "50)."
        ),
        "max_tokens",
        VALUE,
    ),
    "vLLM on Gaudi": Case(
        openai(
            "Gaudi doesn't support logprobs. Please remove 'logprobs'/'top_logprobs' from your "
            "request to receive a response."
        ),
        "logprobs",
        PARAMETER,
    ),
    "SGLang": Case(
        {
            "object": "error",
            "message": "1 validation error:\n  {'type': 'literal_error', 'loc': ('body', "
            "'reasoning_effort'), 'msg': \"Input should be 'low', 'medium' or 'high'\", 'input': "
            "'xhigh'}",
            "type": "Bad Request",
            "param": None,
            "code": 400,
        },
        "reasoning_effort",
        VALUE,
    ),
    "llama.cpp, tools": Case(
        {
            "error": {
                "code": 400,
                "message": "logprobs is not supported with tools + stream",
                "type": "invalid_request_error",
            }
        },
        "logprobs",
        VALUE,
    ),
    "llama.cpp, older": Case(
        {"code": 500, "message": "Unsupported param: stop", "type": "server_error"},
        "stop",
        PARAMETER,
        status=500,
    ),
    "llama.cpp, format": Case(  # recalled
        {
            "error": {
                "code": 400,
                "message": 'response_format type must be one of "text" or "json_object", but got: '
                "json_schema",
            }
        },
        "response_format",
        VALUE,
    ),
    "Ollama": Case(
        {
            "error": {
                "message": '"llama3.1:8b" does not support thinking',
                "type": "invalid_request_error",
                "param": None,
                "code": None,
            }
        },
        "reasoning_effort",
        PARAMETER,
    ),
    "Ollama, effort": Case(
        {
            "error": {
                "message": 'think value "medium" is not supported for this model',
                "type": "api_error",
                "param": None,
                "code": None,
            }
        },
        "reasoning_effort",
        VALUE,
    ),
    "LM Studio": Case(
        {"error": "'response_format.type' must be 'json_schema' or 'text'"},
        "response_format",
        VALUE,
    ),
    "TGI": Case(
        {
            "error": "Input validation error: `top_p` must be > 0.0 and < 1.0",
            "error_type": "validation",
        },
        "top_p",
        VALUE,
        status=422,
    ),
    "candle-vllm": Case(
        "Error: top_p must be 1 when using greedy sampling (no temperature specified)",
        "top_p",
        VALUE,
    ),
    "Cohere on Bedrock": Case(
        "Malformed input request: #/p: 1 is not less or equal to 0.99, please reformat your "
        "input and try again.",
        "top_p",
        VALUE,
    ),
    "Bedrock": Case(
        "Malformed input request: #: extraneous key [presence_penalty] is not permitted, please "
        "reformat your input and try again.",
        "presence_penalty",
        PARAMETER,
    ),
    "Bedrock, a Claude": Case(
        "The model returned the following errors: reasoning_effort: Extra inputs are not permitted",
        "reasoning_effort",
        PARAMETER,
    ),
    "Cerebras": Case(
        {
            "message": "body.top_k: property 'body.top_k' is unsupported",
            "type": "invalid_request_error",
            "param": "validation_error",
            "code": "wrong_api_format",
        },
        "top_k",
        PARAMETER,
    ),
    "SambaNova": Case(  # recalled
        {"error": {"message": "logprobs is not supported for this model", "code": None}},
        "logprobs",
        PARAMETER,
    ),
    "DashScope": Case(  # recalled
        openai(
            "<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 8192]",
            code="invalid_parameter_error",
        ),
        "max_tokens",
        VALUE,
    ),
    "Volcano Engine": Case(
        {
            "error": {
                "code": "InvalidParameter",
                "message": "The parameter `response_format.type` specified in the request are not "
                "valid: invalid value: `json_schema`, supported values are: `json_object` and "
                "`text`.",
                "param": "response_format.type",
                "type": "BadRequest",
            }
        },
        "response_format",
        VALUE,
    ),
    "Moonshot": Case(
        openai("invalid temperature: only 1 is allowed for this model"), "temperature", PARAMETER
    ),
    "Zhipu": Case(
        {"error": {"code": "1214", "message": "top_p参数非法。请检查文档。"}}, "top_p", VALUE
    ),
    "Zhipu in English": Case(
        {
            "error": {
                "code": "1214",
                "message": "The max_tokens parameter is illegal. Please check the documentation.",
            }
        },
        "max_tokens",
        VALUE,
    ),
    "GigaChat": Case(
        {"status": 422, "message": "Invalid params: temperature must be in range (0, +inf)"},
        "temperature",
        VALUE,
        status=422,
    ),
    "FastChat": Case(
        {"object": "error", "message": "2.5 is greater than the maximum of 2 - 'temperature'"},
        "temperature",
        VALUE,
    ),
}
NOT_ABOUT_A_PARAMETER = [
    "Sampling failed while applying temperature.",
    "Both workers crashed, last seed was 7.",
    "The messages parameter is illegal. Please check the documentation.",
    "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8000 "
    "in the messages, 1000 in the completion). Please reduce the length of the messages.",
    "No endpoints found that support tool use.",
    "This model does not support images.",
    "Please stop asking, this is not supported.",
    "Invalid value: 'developer'. Supported values are: 'system', 'assistant', 'user'.",
    "The model `gpt-6` does not exist or you do not have access to it.",
    "Model grok-4-reasoning does not support tools.",
]


def find_case_refusal(case: Case) -> ParameterRefusal | None:
    body = {"error": {"message": case.body}} if isinstance(case.body, str) else case.body
    error = error_of_response(case.status, httpx.Headers(), json.dumps(body).encode())
    return find_refusal(error, case.sent)


@pytest.mark.parametrize("gateway", CASES)
def test_a_refusal_is_recognised(gateway: str) -> None:
    case = CASES[gateway]
    assert find_case_refusal(case) == ParameterRefusal(tuple(case.fields.split()), case.of_value)


@pytest.mark.parametrize("gateway", CASES)
def test_only_what_was_sent_is_refused(gateway: str) -> None:
    assert find_case_refusal(CASES[gateway]._replace(sent=())) is None


@pytest.mark.parametrize("message", NOT_ABOUT_A_PARAMETER)
def test_an_error_about_something_else_refuses_no_parameter(message: str) -> None:
    assert find_case_refusal(Case(message, "", PARAMETER)) is None


@pytest.mark.parametrize("status", [401, 402, 403, 408, 413, 429, 502, 503])
def test_a_status_with_another_meaning_is_no_refusal(status: int) -> None:
    assert find_case_refusal(CASES["OpenAI, a parameter"]._replace(status=status)) is None


def test_an_error_after_status_200_can_refuse_a_parameter() -> None:
    error = error_of_frame(CASES["DeepSeek"].body["error"])
    assert find_refusal(error, SENT) == ParameterRefusal(("temperature",), PARAMETER)


@pytest.mark.parametrize("name", ["a(b", "x" * 100, "user", "größe", "["])
def test_any_name_that_a_person_may_set_can_be_looked_for(name: str) -> None:
    assert find_case_refusal(Case(f"Unknown parameter: '{name}'.", name, PARAMETER, sent=(name,)))
    assert (
        find_case_refusal(Case("messages.0.user: Field required", "", PARAMETER, sent=(name,)))
        is None
    )
