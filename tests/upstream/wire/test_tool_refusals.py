"""Messages of gateways that refuse tools, and of some that refuse one tool."""

import pytest

from chatapp.upstream.wire.errors.upstream_error import ErrorKind, UpstreamError


def error(message: str, status: int = 400) -> UpstreamError:
    return UpstreamError(ErrorKind.BAD_REQUEST, message, status)


@pytest.mark.parametrize(
    "message",
    [
        "registry.ollama.ai/library/gemma3:4b does not support tools",
        "this model does not support tools",
        "No endpoints found that support tool use. To learn more about provider routing, visit: x",
        '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
        "`tool calling` is not supported with this model",
        "'tools' is not supported with this model.",
        "tools is not supported in this model. For a list of supported models, refer to x",
        "This model doesn't support tool use in streaming mode.",
        "tools param requires --jinja flag",
        "Cannot use tools with stream",
        "Unsupported parameter: 'tools'",
        "Unrecognized request argument supplied: tools",
        "Extra inputs are not permitted, field: 'tools'",
        "tools: Extra inputs are not permitted",
    ],
)
def test_a_refusal_of_all_tools_is_recognised(message: str) -> None:
    assert error(message).refuses_all_tools
    assert error(message).refuses_tools
    assert not error(message, 500).refuses_all_tools


@pytest.mark.parametrize(
    "message",
    [
        'Invalid JSON payload received. Unknown name "const" at '
        "'tools[0].function_declarations[3].parameters.properties[1].value': Cannot find field.",
        "tools.0.custom.input_schema: JSON schema is invalid. It must match draft 2020-12",
        "attempted to call tool 'x' which was not in request.tools",
        "tool call validation failed: parameters for tool x did not match schema",
        "tools.0.function.strict: Extra inputs are not permitted",
        "Unknown name \"strict\" at 'tools[0]': Cannot find field.",
        "messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
        "An assistant message with 'tool_calls' must be followed by tool messages",
        "This model does not support parallel tool calls",
        "Model does not support tool choice 'required'",
        "tool 'web_search' is not supported",
        "Tools with a response format of JSON are not supported",
        "Duplicate tool names: search",
    ],
)
def test_a_refusal_of_one_tool_says_nothing_about_the_model(message: str) -> None:
    assert not error(message).refuses_all_tools
