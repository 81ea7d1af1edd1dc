"""The socket's forms: what they accept, and the values they return."""

import json
from uuid import uuid4

import pytest
from django.test import Client
from pytest_django import Settings

from chatapp.chat.actions import ACTIONS
from chatapp.chat.forms import (
    AlwaysAllowForm,
    Decision,
    DecisionForm,
    ShownThread,
    Stop,
    StopForm,
    WatchForm,
)
from chatapp.chat.settings_forms import ChooseForm
from chatapp.chat.turn_forms import PromptForm, RetryForm
from chatapp.models import ModelChoice, Prompt, Retry, ToolAllowance
from tests.support.page import parse

MODEL = ModelChoice(1, "m")
HERE, THERE, PROMPT = uuid4(), uuid4(), uuid4()


def prompt_form(**fields: object) -> PromptForm:
    form = PromptForm({"message": "Why?"} | fields)
    assert form.is_valid(), form.errors
    return form


def problem(**fields: object) -> str:
    form = PromptForm(fields)
    assert not form.is_valid()
    return str(form.errors["message"][0])


def test_a_prompt_keeps_its_text_and_its_place() -> None:
    assert prompt_form().build_submission(MODEL) == Prompt("Why?", MODEL)
    form = prompt_form(message=" Why? \n", conversation=HERE, parent=str(THERE), prompt=PROMPT)
    assert form.build_submission(MODEL) == Prompt(" Why? \n", MODEL, HERE, THERE, PROMPT)


@pytest.mark.parametrize("text", ["", " \n\t ", None])
def test_a_blank_prompt_is_refused(text: str | None) -> None:
    assert problem(message=text) == "Type a message first."


def test_a_prompt_has_a_maximum_length(settings: Settings) -> None:
    settings.CHATAPP_MAX_PROMPT_CHARACTERS = 1000
    assert prompt_form(message="\U0001f600" * 1000)
    error = "This message has 1,001 characters; the limit is 1,000."
    assert error in problem(message="x" * 1001)


def test_a_lone_surrogate_is_stored_as_a_question_mark() -> None:
    assert prompt_form(message="So \ud83d").build_submission(MODEL).text == "So ?"


@pytest.mark.parametrize(
    ("value", "chosen"),
    [
        ("1/gpt-4o", ModelChoice(1, "gpt-4o")),
        ("12/google/gemini-3-flash", ModelChoice(12, "google/gemini-3-flash")),
        ("", None),
        (None, None),
        ("/", None),
        ("1/", None),
        ("x/m", None),
        ("-1/m", None),
        ("9" * 5000 + "/m", None),
        ("1/" + "m" * 201, None),
        ("1/m\n", None),
    ],
)
def test_a_model_is_chosen_by_upstream_and_name(
    value: str | None, chosen: ModelChoice | None
) -> None:
    assert prompt_form(model=value).chosen_models == ([chosen] if chosen else [])


def test_a_retry_names_its_reply() -> None:
    form = RetryForm({"reply": str(HERE), "model": "1/m"})
    assert form.is_valid()
    assert form.chosen_models == [MODEL]
    assert form.build_submission(MODEL) == Retry(HERE, MODEL)
    assert not RetryForm({"reply": "x"}).is_valid()
    assert not RetryForm({}).is_valid()


def test_a_retry_may_leave_out_a_bounded_number_of_parameters() -> None:
    sent = {"reply": str(HERE), "model": "1/m"}
    form = RetryForm(sent | {"without": " temperature  top_k temperature "})
    assert form.is_valid()
    assert form.build_submission(MODEL).without == ("temperature", "top_k")
    for without in ("x" * 101, " ".join(map(str, range(51)))):
        assert not RetryForm(sent | {"without": without}).is_valid()


def test_a_decision_names_a_tool_call_of_a_conversation() -> None:
    call = {"conversation": str(HERE), "round": 0, "call": "2"}
    form = DecisionForm(call)
    assert form.is_valid()
    assert form.value_object == Decision(HERE, None, 0, 2)
    of_one_reply = DecisionForm(call | {"reply": str(HERE)})
    assert of_one_reply.is_valid()
    assert of_one_reply.value_object == Decision(HERE, HERE, 0, 2)
    for wrong in (
        {"round": -1},
        {"call": 1001},
        {"call": "x"},
        {"conversation": None},
        {"reply": "x"},
    ):
        assert not DecisionForm(call | wrong).is_valid()


def test_a_tool_that_is_always_allowed_is_named_with_its_definition() -> None:
    call = {"conversation": str(HERE), "round": 0, "call": 2}
    tool = {"tool": "wiki__search", "definition": "0a" * 32}
    form = AlwaysAllowForm(call | tool)
    assert form.is_valid()
    assert form.value_object == Decision(HERE, None, 0, 2)
    assert form.allowance == ToolAllowance(HERE, "wiki__search", "0a" * 32)
    for wrong in ({"tool": ""}, {"tool": "<b>"}, {"definition": "0a"}, {"definition": "x" * 64}):
        assert not AlwaysAllowForm(call | tool | wrong).is_valid()


def test_servers_are_switched_off_by_their_keys() -> None:
    here = {"conversation": str(HERE)}
    for sent, parsed in (
        ({}, None),
        ({"off_servers": ""}, ()),
        ({"off_servers": "3 12 3"}, (3, 12)),
    ):
        form = ChooseForm(here | sent)
        assert form.is_valid()
        assert form.value_object.off_servers == parsed
    for wrong in ("x", "-1", "9" * 19, " ".join(map(str, range(1, 1002)))):
        assert not ChooseForm(here | {"off_servers": wrong}).is_valid()


def test_a_page_without_a_conversation_names_none() -> None:
    stop, watch = StopForm({"conversation": ""}), WatchForm({"conversation": "", "head": ""})
    assert stop.is_valid()
    assert stop.value_object == Stop(None)
    assert watch.is_valid()
    assert watch.value_object is None


def test_stop_can_name_a_reply() -> None:
    form = StopForm({"conversation": str(HERE), "reply": str(THERE)})
    assert form.is_valid()
    assert form.value_object == Stop(HERE, THERE)


def test_watch_says_what_the_page_shows() -> None:
    form = WatchForm({"conversation": str(HERE), "head": str(THERE), "ending": "complete"})
    assert form.is_valid()
    assert form.value_object == ShownThread(HERE, THERE, "complete")
    form = WatchForm({"conversation": str(HERE)})
    assert form.is_valid()
    assert form.value_object == ShownThread(HERE)


def test_errors_of_one_message_do_not_affect_the_next() -> None:
    wrong, right = (
        PromptForm({"conversation": "x", "message": ""}),
        PromptForm({"message": "Hello"}),
    )
    assert not wrong.is_valid()
    assert right.is_valid()
    assert set(wrong.errors) == {"conversation", "message"}
    assert right["message"].errors == []


@pytest.mark.django_db
def test_no_button_of_the_composer_takes_its_fields_for_its_own(alices: Client) -> None:
    """A button in a form sends the form's fields, such as the text in the message box."""
    composer = parse(alices.get("/").text).find("form", id="composer")
    buttons = [element.attributes for element in composer.walk() if "hx-vals" in element.attributes]
    actions = [json.loads(attributes["hx-vals"])["action"] for attributes in buttons]
    assert "leave_out" in actions
    for action in actions:
        own, composers = ACTIONS[action].form.base_fields, PromptForm.base_fields
        for name in own.keys() & composers.keys():
            assert type(own[name]) is type(composers[name]), (action, name)
