"""The panel of a chat's settings, and what a person sees of a request."""

from collections.abc import Mapping
from uuid import uuid4

import pytest
from django.test import Client

from chatapp.chat.form_fields import OUT_OF_DATE
from chatapp.chat.settings_forms import ChooseForm
from chatapp.chat.turn_forms import PromptForm
from chatapp.models import (
    AccessRule,
    ChatNotFound,
    ChatSettings,
    Conversation,
    Memory,
    ModelChoice,
    ParameterChoice,
    Preset,
    Prompt,
    Refused,
    ToolAllowance,
    ToolServer,
    Upstream,
    User,
)
from chatapp.models.library.sharing import Level
from tests.support.page import parse
from tests.support.stored import MODEL, build_reply, end

pytestmark = pytest.mark.django_db

SET: Mapping[str, str] = {"system_prompt": "Rhyme.", "temperature": "0.5"}


@pytest.fixture
def gateway(db: None) -> Upstream:
    return Upstream.objects.create(name="Gateway", base_url="http://127.0.0.1:9/v1")


@pytest.fixture
def chat(alice: User, gateway: Upstream) -> Conversation:
    turn = Prompt("Why?", ModelChoice(gateway.pk, MODEL)).store(alice, uuid4())
    end(turn.reply, build_reply("So."))
    return turn.conversation


def test_settings_are_saved_and_shown_again(alices: Client, chat: Conversation) -> None:
    path = f"/c/{chat.pk}/settings/"
    assert ">Saved<" in alices.post(path, SET).text
    settings = ChatSettings.for_conversation(chat)
    assert (settings.instructions, settings.sent_parameters) == ("Rhyme.", {"temperature": 0.5})
    panel = alices.get(path).text
    assert "Rhyme." in panel
    assert 'value="0.5"' in panel


def test_the_panel_names_tools_that_are_always_allowed_and_takes_them_back(
    alices: Client, alice: User, chat: Conversation
) -> None:
    path = f"/c/{chat.pk}/settings/"
    assert "Ask again" not in alices.get(path).text
    for tool in ("company-wiki__search_pages", "company-wiki__list"):
        ToolAllowance(chat.pk, tool, "1").store(alice)
    [listed] = parse(alices.get(path).text).find_all(class_="allowed-tools")
    assert "Search pages" in listed.text
    back = listed.find_all("button")[1].attributes["hx-post"]
    assert back == f"{path}?ask_before=company-wiki__search_pages"
    page = alices.post(back, {"system_prompt": "Rhyme.", "temperature": "9"}).text
    assert "Search pages" not in page
    assert 'aria-invalid="true"' in page
    settings = ChatSettings.for_conversation(chat)
    assert (settings.allowed_tools, settings.system_prompt) == ({"company-wiki__list": "1"}, None)


def test_the_tools_of_a_chat_have_a_switch_per_server(
    alices: Client, alice: User, bobs: Client, chat: Conversation
) -> None:
    assert 'id="tools"' not in alices.get(f"/c/{chat.pk}/").text
    wiki, files, closed = (
        ToolServer.objects.create(name=name, url="http://127.0.0.1:9/mcp")
        for name in ("company-wiki", "files", "closed")
    )
    AccessRule.objects.restrict_to([], tool_server=closed)
    assert 'id="tools"' in alices.get(f"/c/{chat.pk}/").text
    switches = parse(alices.get("/chat-tools/", {"conversation": str(chat.pk)}).text)
    assert [label.text.strip() for label in switches.find_all("label")] == ["Company wiki", "Files"]
    assert [field.attributes["value"] for field in switches.find_all("input")] == [
        str(server.pk) for server in (wiki, files)
    ]
    preset = Preset.start(alice, name="Poet", tools=[files.pk])
    switches = parse(alices.get("/chat-tools/", {"preset": str(preset.pk)}).text)
    assert [label.text.strip() for label in switches.find_all("label")] == ["Files"]
    assert bobs.get("/chat-tools/", {"conversation": str(chat.pk)}).status_code == 404
    ToolServer.objects.exclude(pk=closed.pk).delete()
    assert 'id="tools"' not in alices.get(f"/c/{chat.pk}/").text


def test_all_parameters_are_saved_and_shown_again(alices: Client, chat: Conversation) -> None:
    path = f"/c/{chat.pk}/settings/"
    typed = {
        "system_prompt": "",
        "temperature": "0",
        "top_p": "1",
        "max_output_tokens": "500",
        "reasoning_effort": "low",
        "stop": "END\r\n\\n\\n",
        "seed": "7",
        "response_format": "json_schema",
        "schema": '{"type": "object"}',
        "logprobs": "on",
        "top_logprobs": "2",
        "web_search": "on",
        "extra": '{"top_k": 20}',
    }
    alices.post(path, typed)
    stored_parameters = ChatSettings.for_conversation(chat).parameters
    assert stored_parameters == {
        "temperature": 0,
        "top_p": 1,
        "max_output_tokens": 500,
        "reasoning_effort": "low",
        "stop": ["END", "\n\n"],
        "seed": 7,
        "response_format": {"type": "json_schema", "schema": {"type": "object"}},
        "logprobs": True,
        "top_logprobs": 2,
        "web_search": True,
        "extra": {"top_k": 20},
    }
    panel = alices.get(path).text
    assert "END\n\\n\\n</textarea>" in panel
    assert "&quot;top_k&quot;: 20" in panel or "&#34;top_k&#34;: 20" in panel


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("temperature", "9", "Temperature must be a number from 0 to 2."),
        ("temperature", "nan", "Enter a number."),
        ("system_prompt", "x" * 20_001, "20000"),
        ("extra", "{", "This isn't valid JSON"),
        ("extra", "[" * 10_000, "This JSON can't be read."),
        ("extra", '{"messages": []}', "A chat can't set “messages”."),
        ("extra", "9" * 10_000, "This JSON can't be read."),
        ("top_logprobs", "2", "Switch log probabilities on"),
        ("response_format", "json_schema", "The schema must be a JSON object"),
    ],
)
def test_a_bad_value_is_refused_and_stays_in_the_form(
    alices: Client, chat: Conversation, name: str, value: str, says: str
) -> None:
    page = alices.post(f"/c/{chat.pk}/settings/", {name: value}).text
    assert says in page.replace("&#x27;", "'").replace("&#39;", "'")
    assert not ChatSettings.objects.exists()


def test_nobody_else_reaches_the_settings_or_the_request(
    bobs: Client, olives: Client, chat: Conversation
) -> None:
    reply = chat.messages.get(role="assistant")
    for client in (bobs, olives):
        assert client.post(f"/c/{chat.pk}/settings/", SET).status_code == 404
        for path in ("settings", "request"):
            assert client.get(f"/c/{chat.pk}/{path}/").status_code == 404
        assert client.get(f"/replies/{reply.pk}/request/").status_code == 404
    assert not ChatSettings.objects.exists()


def test_the_first_prompt_brings_the_settings_of_a_new_chat() -> None:
    form = PromptForm({"message": "Why?", **SET})
    assert form.is_valid()
    prompt = form.build_submission(ModelChoice(1, "m"))
    assert (prompt.system_prompt, prompt.parameters) == ("Rhyme.", {"temperature": 0.5})


def test_the_composers_controls_keep_the_rest_of_a_preset(alice: User, gateway: Upstream) -> None:
    set_before = {"temperature": 0.5, "web_search": True, "reasoning_effort": "low"}
    poet = Preset.start(alice, name="Poet", system_prompt="Rhyme.", parameters=set_before)
    sent = {"message": "Why?", "preset": str(poet.pk), "reasoning_effort": "high", "web_search": ""}
    form = PromptForm(sent)
    assert form.is_valid()
    turn = form.build_submission(ModelChoice(gateway.pk, MODEL)).store(alice, uuid4())
    settings = ChatSettings.for_conversation(turn.conversation)
    assert settings.system_prompt is None
    assert settings.parameters == {"temperature": 0.5, "reasoning_effort": "high"}
    same = PromptForm({**sent, "reasoning_effort": "low", "web_search": "on"})
    assert same.is_valid()
    turn = same.build_submission(ModelChoice(gateway.pk, MODEL)).store(alice, uuid4())
    assert not ChatSettings.for_conversation(turn.conversation).differs_from_preset


def test_a_new_chat_in_which_nothing_was_chosen_has_no_settings(
    alice: User, gateway: Upstream
) -> None:
    form = PromptForm({"message": "Why?", "reasoning_effort": "", "web_search": ""})
    assert form.is_valid()
    form.build_submission(ModelChoice(gateway.pk, MODEL)).store(alice, uuid4())
    assert not ChatSettings.objects.exists()


def test_a_choice_at_the_composer_changes_only_that(alice: User, chat: Conversation) -> None:
    settings = ChatSettings.for_conversation(chat)
    settings.set_own("Rhyme.", {"temperature": 0.5})
    settings.store()
    here = {"conversation": str(chat.pk)}
    for chosen in ({"web_search": "on"}, {"reasoning_effort": "high"}, {"web_search": ""}):
        form = ChooseForm(here | chosen)
        assert form.is_valid()
        form.value_object.store(alice)
    settings = ChatSettings.for_conversation(chat)
    assert settings.instructions == "Rhyme."
    assert settings.sent_parameters == {"temperature": 0.5, "reasoning_effort": "high"}


@pytest.mark.parametrize("effort", ["huge", "x" * 10**6])
def test_a_bad_choice_is_refused(chat: Conversation, effort: str) -> None:
    chosen = {"conversation": str(chat.pk), "reasoning_effort": effort}
    assert not ChooseForm(chosen).is_valid()


def test_nobody_chooses_for_another_person_or_behind_a_preset(
    alice: User, bob: User, poet: Preset, chat: Conversation
) -> None:
    choice = ParameterChoice(chat.pk, {"web_search": True})
    with pytest.raises(ChatNotFound):
        choice.store(bob)
    poet.share(None, Level.USE, alice)
    bobs = bob.conversations.create(title="Bob's")
    settings = ChatSettings(conversation=bobs, preset_version=poet.newest)
    settings.store()
    with pytest.raises(Refused, match="not see or change"):
        ParameterChoice(bobs.pk, {"web_search": True}).store(bob)
    assert ChatSettings.for_conversation(bobs).parameters is None


def test_the_composer_shows_what_is_set_to_those_who_may_see_it(
    alice: User, alices: Client, bobs: Client, poet: Preset, gateway: Upstream
) -> None:
    poet.change(alice, 1, parameters={"web_search": True, "reasoning_effort": "high"})
    poet.share(None, Level.USE, alice)
    query = {"preset": str(poet.pk)}
    state = state_in(alices.get("/", query).text)
    assert state == {"reasoning_effort": "high", "web_search": "on"}
    assert state_in(bobs.get("/", query).text) == {}
    assert state_in(alices.get("/").text) == {"reasoning_effort": "", "web_search": ""}


def state_in(page: str) -> dict[str, str]:
    state = parse(page).find("div", id="settings-state")
    return {
        field.attributes["name"]: field.attributes["value"] for field in state.find_all("input")
    }


def test_the_model_picker_says_which_controls_a_model_has(
    alices: Client, gateway: Upstream
) -> None:
    gateway.offered_models = "plain\ngpt-5\nfixed"
    gateway.model_parameters = {
        "fixed": {"reasoning_effort": {"fixed": "low"}, "web_search": {"fixed": True}},
        "plain": {"web_search": {"offered": True}},
    }
    gateway.save()
    options = parse(alices.get("/").text).find("select", id="model").find_all("option")
    controls = {
        option.attributes["value"].partition("/")[2]: {
            name
            for name in option.attributes
            if name.startswith(("data-ef", "data-fix", "data-sea"))
        }
        for option in options
    }
    assert controls == {
        "plain": {"data-searches"},
        "gpt-5": {"data-efforts"},
        "fixed": {"data-efforts", "data-fixes-effort", "data-searches", "data-fixes-search"},
    }
    gateway.learn_refusals("gpt-5", ["reasoning_effort"])
    gateway.save()
    assert 'data-efforts="low medium' not in alices.get("/").text


def test_a_bad_setting_of_a_new_chat_is_refused_with_the_prompt() -> None:
    form = PromptForm({"message": "Why?", "temperature": "9"})
    assert form.errors.as_data()["__all__"][0].messages == [
        "Temperature must be a number from 0 to 2."
    ]


def test_a_later_prompt_brings_no_settings() -> None:
    form = PromptForm({"message": "Why?", "conversation": str(uuid4()), "temperature": "9"})
    assert form.is_valid()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("key", "user"), [("sk-a-key", "(key removed) and more"), ("none", "none and more")]
)
def test_the_next_request_is_shown_as_it_will_be_sent(
    alice: User, alices: Client, chat: Conversation, gateway: Upstream, key: str, user: str
) -> None:
    parameters = {"user": f"{key} and more"}
    Upstream.objects.filter(pk=gateway.pk).update(api_key=key, parameters=parameters)
    Memory.objects.create(user=alice, about="A nurse.")
    alices.post(f"/c/{chat.pk}/settings/", SET)
    query = {"model": f"{gateway.pk}/{MODEL}", "download": "1"}
    body = alices.get(f"/c/{chat.pk}/request/", query).json()
    assert body["temperature"] == 0.5
    assert body["user"] == user
    assert body["messages"][0]["content"].startswith("Rhyme.\n\nWhat the person")
    assert [message["content"] for message in body["messages"][1:]] == [
        "Why?",
        "So.",
        "(your next message)",
    ]


@pytest.mark.django_db(transaction=True)
def test_the_request_of_a_reply_is_shown_as_it_was_sent(
    alices: Client, alice: User, gateway: Upstream
) -> None:
    model = ModelChoice(gateway.pk, MODEL)
    turn = Prompt("Why?", model, system_prompt="Rhyme.").store(alice, uuid4())
    end(turn.reply, build_reply("So."))
    alices.post(f"/c/{turn.conversation.pk}/settings/", {"system_prompt": "Speak plainly."})
    body = alices.get(f"/replies/{turn.reply.pk}/request/", {"download": "1"}).json()
    assert [message["content"] for message in body["messages"]] == ["Rhyme.", "Why?"]
    request_page = alices.get(f"/replies/{turn.reply.pk}/request/").text
    assert "Rhyme." in request_page


def test_a_model_that_is_not_offered_shows_no_request(alices: Client, chat: Conversation) -> None:
    for model in ("", "999/nothing", "x"):
        page = alices.get(f"/c/{chat.pk}/request/", {"model": model}).text
        assert 'role="alert"' in page


@pytest.fixture
def poet(alice: User) -> Preset:
    return Preset.start(alice, name="Poet", system_prompt="Rhyme.", suggestions=["On spring"])


def test_a_new_chat_starts_from_a_preset(alices: Client, poet: Preset) -> None:
    assert f"/?preset={poet.pk}" in alices.get("/").text
    page = alices.get("/", {"preset": str(poet.pk)}).text
    assert f'name="preset" value="{poet.pk}"' in page
    assert "On spring" in page
    assert "Rhyme." in alices.get("/chat-settings/", {"preset": str(poet.pk)}).text
    poet.change(poet.owner, 1, parameters={"max_output_tokens": 9876543})
    assert "9876543" in alices.get("/", {"preset": str(poet.pk)}).text


def test_a_project_gives_its_preset_to_new_chats(alice: User, alices: Client, poet: Preset) -> None:
    project = alice.projects.create(name="Poems")
    fields = {"name": "Poems", "preset": str(poet.pk)}
    alices.post(f"/projects/{project.pk}/change/", fields)
    page = alices.get(f"/projects/{project.pk}/").text
    assert f'name="preset" value="{poet.pk}"' in page


def test_nobody_starts_from_or_sees_a_preset_of_somebody_else(
    bobs: Client, bob: User, poet: Preset
) -> None:
    query = {"preset": str(poet.pk)}
    assert "Poet" not in bobs.get("/", query).text
    assert "Rhyme." not in bobs.get("/chat-settings/", query).text
    project = bob.projects.create(name="Poems")
    answer = bobs.post(f"/projects/{project.pk}/change/", {"name": "Poems", **query})
    assert answer.status_code == 422


def test_a_chat_is_given_a_preset_and_departs_from_it(
    alices: Client, chat: Conversation, poet: Preset
) -> None:
    path, named = f"/c/{chat.pk}/settings/", {"preset": str(poet.pk)}
    page = alices.post(f"{path}?take=on", {**named, "system_prompt": "Mine."}).text
    assert "Rhyme." in page
    assert "Mine." not in page
    alices.post(path, {**named, "version": "1", "system_prompt": "Rhyme."})
    settings = ChatSettings.for_conversation(chat)
    assert (settings.preset, settings.differs_from_preset) == (poet, False)
    page = alices.post(path, {**named, "version": "1", "system_prompt": "Rhyme in German."}).text
    assert "Changed for this chat." in page
    poet.change(poet.owner, 1, system_prompt="Speak plainly.")
    assert "This preset has been changed since." in alices.get(path).text
    newest = alices.post(f"{path}?take=on", named).text
    assert "Speak plainly." in newest
    assert 'name="version" value="2"' in newest
    alices.post(f"{path}?take=on", {"preset": ""})
    assert not ChatSettings.objects.exists()


def test_what_a_person_may_only_use_is_shown_nowhere(
    bob: User, bobs: Client, poet: Preset, gateway: Upstream
) -> None:
    poet.change(poet.owner, 1, parameters={"max_output_tokens": 9876543})
    poet.share(None, Level.USE, poet.owner)
    model = ModelChoice(gateway.pk, MODEL)
    turn = Prompt("Why?", model, preset=poet.pk).store(bob, uuid4())
    end(turn.reply, build_reply("So."))
    chat, query = turn.conversation.pk, {"model": f"{gateway.pk}/{MODEL}", "download": "1"}
    pages = [
        bobs.get("/", {"preset": str(poet.pk)}),
        bobs.get(f"/c/{chat}/"),
        bobs.get("/chat-settings/", {"preset": str(poet.pk)}),
        bobs.get(f"/c/{chat}/settings/"),
        bobs.get(f"/c/{chat}/request/", query),
        bobs.get(f"/replies/{turn.reply.pk}/request/", query),
    ]
    assert all(page.status_code == 200 for page in pages)
    assert not any(secret in page.text for page in pages for secret in ("Rhyme.", "9876543"))
    bobs.post(f"/c/{chat}/settings/", {"preset": str(poet.pk), "system_prompt": "Mine."})
    assert ChatSettings.for_conversation(turn.conversation).instructions == "Rhyme."


def test_what_a_person_could_only_use_stays_hidden_once_its_owner_is_erased(
    alice: User, bob: User, bobs: Client, poet: Preset, gateway: Upstream
) -> None:
    poet.share(None, Level.USE, alice)
    turn = Prompt("Why?", ModelChoice(gateway.pk, MODEL), preset=poet.pk).store(bob, uuid4())
    end(turn.reply, build_reply("So."))
    poet.unshare(None, alice)
    alice.delete()
    page = bobs.get(f"/replies/{turn.reply.pk}/request/", {"download": "1"}).text
    assert "Rhyme." not in page
    assert "not read its instructions" in page.replace("&#39;", "'")


# Settings of single models


@pytest.fixture
def several(gateway: Upstream) -> Mapping[str, str]:
    """The fields that the composer sends when two models are chosen."""
    return {"model": f"{gateway.pk}/{MODEL}", "others": f"{gateway.pk}/second"}


def find_hidden_value(page: str, name: str) -> str:
    [field] = (candidate for candidate in parse(page).find_all("input", name=name))
    return field.attributes["value"]


def test_settings_for_are_offered_if_several_models_are_chosen(
    alices: Client, chat: Conversation, several: Mapping[str, str]
) -> None:
    path = f"/c/{chat.pk}/settings/"
    of_one = {"model": several["model"]}
    assert parse(alices.get(path, of_one).text).find_all("option", value=several["model"]) == []
    options = parse(alices.get(path, several).text).find_all("option")
    values = [option.attributes["value"] for option in options]
    assert [value for value in values if "/" in value] == list(several.values())


def test_what_was_typed_is_kept_when_another_model_is_shown(
    alices: Client, chat: Conversation, several: Mapping[str, str]
) -> None:
    path, second = f"/c/{chat.pk}/settings/", several["others"]
    assert "data-unsaved" not in alices.post(f"{path}?show=on", several).text
    page = alices.post(f"{path}?show=on", {**several, **SET, "show_of": second}).text
    assert "data-unsaved" in page
    assert not ChatSettings.objects.exists()
    assert find_hidden_value(page, "settings_of") == second
    assert 'value="0.5"' in page
    fields = {"draft": find_hidden_value(page, "draft"), "settings_of": second, "show_of": second}
    page = alices.post(path, {**several, **SET, **fields, "temperature": "0.9"}).text
    assert ">Saved<" in page
    settings = ChatSettings.for_conversation(chat)
    assert (settings.instructions, settings.sent_parameters) == ("Rhyme.", {"temperature": 0.5})
    assert settings.by_model == {second: {"parameters": {"temperature": 0.9}}}
    assert "second (own settings)" in alices.get(path, {"model": several["model"]}).text


def test_a_bad_value_for_a_model_is_refused_and_its_fields_stay(
    alices: Client, chat: Conversation, several: Mapping[str, str]
) -> None:
    second = several["others"]
    fields = {"settings_of": second, "show_of": "", "temperature": "9"}
    page = alices.post(f"/c/{chat.pk}/settings/?show=on", {**several, **fields}).text
    assert "Temperature must be a number from 0 to 2." in page
    assert find_hidden_value(page, "settings_of") == second
    assert not ChatSettings.objects.exists()


def test_a_forged_draft_is_refused(
    alices: Client, chat: Conversation, several: Mapping[str, str]
) -> None:
    page = alices.post(f"/c/{chat.pk}/settings/", {**several, **SET, "draft": '{"by_model": 1}'})
    assert OUT_OF_DATE in page.text
    assert not ChatSettings.objects.exists()
    assert not PromptForm({"message": "Why?", **SET, "draft": "x"}).is_valid()


def test_the_settings_of_several_models_come_with_the_first_prompt(
    alice: User, alices: Client, gateway: Upstream, several: Mapping[str, str]
) -> None:
    second = several["others"]
    page = alices.post("/chat-settings/", {**several, **SET, "show_of": second}).text
    fields = {
        "draft": find_hidden_value(page, "draft"),
        "settings_of": find_hidden_value(page, "settings_of"),
    }
    form = PromptForm({"message": "Why?", **several, **SET, **fields, "temperature": "0.9"})
    assert form.is_valid()
    turn = form.build_submission(*form.chosen_models).store(alice, uuid4())
    temperatures = [part_turn.parameters["temperature"] for part_turn in (turn, *turn.others)]
    assert temperatures == [0.5, 0.9]
    for reply in turn.replies:
        end(reply, build_reply("So."))
    request_body = alices.get(f"/replies/{turn.replies[1].pk}/request/", {"download": "1"}).json()
    assert request_body["temperature"] == 0.9


def test_the_next_request_to_each_of_several_models_is_shown(
    alices: Client, chat: Conversation, several: Mapping[str, str]
) -> None:
    own = {several["others"]: {"parameters": {"temperature": 0.9}}}
    ChatSettings.objects.create(conversation=chat, parameters={"temperature": 0.5}, by_model=own)
    page = parse(alices.get(f"/c/{chat.pk}/request/", several).text)
    assert [heading.text for heading in page.find_all("h3")] == [MODEL, "second"]
    downloads = [link.attributes["href"] for link in page.find_all("a")]
    bodies = [alices.get(address).json() for address in downloads]
    assert [(request_body["model"], request_body["temperature"]) for request_body in bodies] == [
        (MODEL, 0.5),
        ("second", 0.9),
    ]


def test_a_preset_that_may_only_be_used_leaves_models_no_settings_of_their_own(
    bob: User, bobs: Client, poet: Preset, gateway: Upstream, several: Mapping[str, str]
) -> None:
    poet.share(None, Level.USE, poet.owner)
    turn = Prompt("Why?", ModelChoice(gateway.pk, MODEL), preset=poet.pk).store(bob, uuid4())
    fields = {**several, "preset": str(poet.pk), "settings_of": several["others"], **SET}
    page = bobs.post(f"/c/{turn.conversation.pk}/settings/", fields).text
    assert "settings_of" not in page
    assert ChatSettings.for_conversation(turn.conversation).by_model is None


def test_the_panel_says_what_the_gateway_does_with_a_parameter(
    alices: Client, chat: Conversation, gateway: Upstream
) -> None:
    path = f"/c/{chat.pk}/settings/"
    plain = alices.get(path, {"model": f"{gateway.pk}/{MODEL}"}).text
    assert "ignores" not in plain
    gateway.base_url = "https://api.deepseek.com/v1"
    gateway.save()
    page = parse(alices.get(path, {"model": f"{gateway.pk}/{MODEL}"}).text)
    field = page.find(id="id_temperature")
    note = page.find(id=field.attributes["aria-describedby"])
    assert note.text.strip() == "DeepSeek ignores this while the model thinks."
    assert "aria-describedby" not in page.find(id="id_seed").attributes


def test_the_panel_names_each_gateway_of_several_models(
    alices: Client, chat: Conversation, gateway: Upstream
) -> None:
    urls = {"Deep": "https://api.deepseek.com/v1", "Claude": "https://api.anthropic.com/v1"}
    others = [Upstream.objects.create(name=name, base_url=url) for name, url in urls.items()]
    model, *more = (f"{upstream.pk}/m" for upstream in others)
    page = alices.get(f"/c/{chat.pk}/settings/", {"model": model, "others": "\n".join(more)}).text
    assert "DeepSeek ignores this while the model thinks. Anthropic takes" in page
