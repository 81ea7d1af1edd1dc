"""The facts about public gateways: the same in the documentation as beside the fields."""

import re
from pathlib import Path

import pytest

from chatapp.parameters.table import PARAMETERS
from chatapp.upstream.wire.requests.dialects import find_spelling
from chatapp.upstream.wire.requests.gateways import GATEWAYS, UNKNOWN, Remark, gateway_at

DOCUMENT = Path(__file__).parents[3] / "docs" / "gateways.md"
SECTION = "### What gateways do with parameters"


def read_table() -> list[list[str]]:
    """Return the rows of the documentation's table."""
    section = DOCUMENT.read_text().partition(SECTION)[2].partition("\n#")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|")]
    return rows[2:]


def name_parameters(remark: Remark) -> str:
    names = [PARAMETERS[parameter].label for parameter in remark.parameters]
    plain = [name if name == "Top P" else name.lower() for name in names]
    return ", ".join([*plain, *(f"`{parameter}`" for parameter in remark.others)])


def test_the_documentation_has_the_same_table() -> None:
    assert read_table() == [
        [f"[{gateway.name}]({gateway.source})", name_parameters(remark), remark.words]
        for gateway in GATEWAYS
        for remark in gateway.remarks
    ]


def test_remarks_are_about_parameters_that_chats_have() -> None:
    for gateway in GATEWAYS:
        assert gateway.source.startswith("https://")
        for remark in gateway.remarks:
            assert set(remark.parameters) <= PARAMETERS.keys()
            assert not remark.words.endswith(".")
            re.compile(remark.models)


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("api.anthropic.com", "Anthropic"),
        ("api.deepseek.com", "DeepSeek"),
        ("us-central1-aiplatform.googleapis.com", "Google"),
        ("aiplatform.googleapis.com", "Google"),
        ("generativelanguage.googleapis.com", "Google"),
        ("api.x.ai", "xAI"),
        ("notx.ai", ""),
        ("x.ai.example", ""),
        ("", ""),
    ],
)
def test_a_gateway_is_known_by_its_host(host: str, name: str) -> None:
    assert gateway_at(host).name == name


def test_a_sentence_says_what_becomes_of_a_parameter() -> None:
    notes = gateway_at("api.deepseek.com").notes_on("deepseek-v4")
    assert notes["temperature"] == "DeepSeek ignores this while the model thinks."
    assert "seed" not in notes
    assert gateway_at("api.anthropic.com").notes_on("any")["seed"] == "Anthropic ignores this."
    assert not UNKNOWN.notes_on("any")


def test_a_remark_may_concern_some_models_only() -> None:
    moonshot = gateway_at("api.moonshot.ai")
    assert "temperature" in moonshot.notes_on("kimi-k2.6")
    assert "temperature" not in moonshot.notes_on("moonshot-v1-8k")


@pytest.mark.parametrize("host", ["api.deepseek.com", "api.moonshot.cn", "api.minimax.io"])
def test_no_reasoning_switches_thinking_off_by_its_type(host: str) -> None:
    spelling = find_spelling("auto", host)
    parameters = {"reasoning_effort": "none", "extra": {"thinking": {"type": "enabled", "keep": 1}}}
    sent = spelling.build_fields(parameters)
    assert sent == {"thinking": {"type": "disabled", "keep": 1}}
    assert spelling.build_fields({"reasoning_effort": "low"}) == {"reasoning_effort": "low"}
    assert not spelling.build_fields({"reasoning_effort": "none"}, refused={"thinking"})
