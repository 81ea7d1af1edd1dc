"""Projects: who may change them, what is refused, and what their chats send."""

from uuid import uuid4

import pytest
from channels.db import database_sync_to_async
from django.test import Client
from pytest_django import Settings

from chatapp.chat import projects as views
from chatapp.models import (
    Conversation,
    ModelChoice,
    Project,
    Prompt,
    Retry,
    Suggestion,
    Upstream,
    User,
)
from chatapp.realtime.worker import worker
from tests.support.page import Page, parse
from tests.support.stored import build_reply, end

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}
SYSTEM = {"role": "system", "content": "Rhyme."}


@pytest.fixture
def poems(alice: User) -> Project:
    project: Project = alice.projects.create(name="Poems", instructions="Rhyme.")
    return project


@pytest.fixture
def model(saved_upstream: Upstream) -> ModelChoice:
    return ModelChoice(saved_upstream.pk, "m")


def post(client: Client, path: str, **fields: str) -> tuple[int, str]:
    answer = client.post(path, fields, headers=HTMX)
    return answer.status_code, answer.content.decode()


def test_a_project_needs_only_a_name(alice: User, alices: Client) -> None:
    status, address = post(alices, "/projects/", name="  Big\n plans ")
    project = alice.projects.get()
    assert (status, address) == (200, f"/projects/{project.pk}/")
    assert (project.name, project.instructions, project.preselected_model) == (
        "Big plans",
        "",
        None,
    )


def test_a_projects_page_is_headed_by_its_name(alices: Client, poems: Project) -> None:
    page = parse(alices.get(f"/projects/{poems.pk}/").content.decode())
    heading = page.find("h1", id="project-heading")
    assert heading.text == "Poems"
    assert (
        page.find("section", data_project_page=str(poems.pk)).attributes["aria-labelledby"]
        == (heading.attributes["id"])
    )
    assert "Name" in page.find("dialog", id="new-project").find("label").text


def test_a_projects_model_must_be_offered(
    alices: Client, poems: Project, saved_upstream: Upstream
) -> None:
    path = f"/projects/{poems.pk}/change/"
    assert post(alices, path, name="Poems", model=f"{saved_upstream.pk}/big")[0] == 200
    poems.refresh_from_db()
    assert poems.preselected_model == ModelChoice(saved_upstream.pk, "big")
    assert post(alices, path, name="Poems", model=f"{saved_upstream.pk + 1}/big")[0] == 422
    assert post(alices, path, name="Poems")[0] == 200
    poems.refresh_from_db()
    assert poems.preselected_model is None


def test_a_project_over_the_storage_limit_is_refused_with_what_to_do(
    alices: Client, poems: Project, settings: Settings
) -> None:
    worker()  # made before, since its hourly part follows from this setting
    settings.CHATAPP_STORED_BYTES_PER_PERSON = 100
    path = f"/projects/{poems.pk}/change/"
    for address in ("/projects/", path):
        status, why = post(alices, address, name="Long", instructions="x" * 200)
        assert status == 422
        assert "Delete some that you no longer need" in why
    assert list(Project.objects.values_list("name", "instructions")) == [("Poems", "Rhyme.")]
    assert post(alices, path, name="Odes", instructions="x" * 80)[0] == 200


@pytest.mark.usefixtures("generations_end")
@pytest.mark.parametrize("is_connected", [True, False], ids=["away", "disabled"])
async def test_a_projects_model_is_kept_while_it_is_unavailable(
    alices: Client, poems: Project, saved_upstream: Upstream, is_connected: bool
) -> None:
    """The form saves the choice that its page shows."""
    poems.upstream, poems.model = saved_upstream, "big"  # the upstream does not list it
    await poems.asave()
    saved_upstream.enabled = is_connected
    await saved_upstream.asave()
    drawn = await database_sync_to_async(alices.get)(f"/projects/{poems.pk}/")
    page = Page(drawn.text)
    [_, choice] = page.root.find_all("select", name="model")
    [chosen] = [option for option in choice.find_all("option") if "selected" in option.attributes]
    assert chosen.text.strip() == "big"
    path = f"/projects/{poems.pk}/change/"
    preselected = chosen.attributes["value"]
    saved, _ = await database_sync_to_async(post)(alices, path, name="Odes", model=preselected)
    assert saved == 200
    poems = await Project.objects.aget(pk=poems.pk)
    assert (poems.name, poems.preselected_model) == ("Odes", ModelChoice(saved_upstream.pk, "big"))


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"name": " "}, "Type a name first."),
        ({"name": "x" * 81}, "A name has at most 80 characters."),
        ({"name": "x", "instructions": "y" * 20_001}, "at most 20000 characters"),
        ({"name": "a\0b"}, "Null characters are not allowed."),
    ],
)
def test_invalid_fields_are_refused_with_a_reason(
    alices: Client, poems: Project, fields: dict[str, str], reason: str
) -> None:
    for path in ("/projects/", f"/projects/{poems.pk}/change/"):
        status, message = post(alices, path, **fields)
        assert (status, reason in message) == (422, True), message


def test_the_number_of_projects_is_limited(
    alices: Client, poems: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "MAX_PROJECTS", 1)
    assert post(alices, "/projects/", name="One more")[0] == 422


def test_nobody_else_can_reach_a_project(bobs: Client, olives: Client, poems: Project) -> None:
    for client in (bobs, olives):
        for what in ("change", "delete"):
            assert post(client, f"/projects/{poems.pk}/{what}/", name="Theirs")[0] == 404
        listed = client.get("/conversations/", {"project": str(poems.pk)})
        assert "Poems" not in listed.text
    poems.refresh_from_db()
    assert poems.name == "Poems"


def test_each_turn_of_a_project_chat_uses_its_current_instructions(
    alice: User, poems: Project, model: ModelChoice
) -> None:
    turn = Prompt("Rain?", model, project=poems.pk).store(alice, uuid4())
    assert turn.conversation.project == poems
    assert turn.history.messages == [SYSTEM, {"role": "user", "content": "Rain?"}]
    end(turn.reply, build_reply("Pain."))
    poems.instructions = "Speak plainly."
    poems.save()
    conversation = turn.conversation.pk
    following = Prompt("Snow?", model, conversation, turn.reply.pk).store(alice, uuid4())
    assert following.history.messages[0] == {"role": "system", "content": "Speak plainly."}
    assert len(following.history.messages) == 4
    end(following.reply, build_reply("White."))
    again = Retry(following.reply.pk, model).store(alice, uuid4())
    assert [message["role"] for message in again.history.messages] == [
        "system",
        "user",
        "assistant",
        "user",
    ]


def test_somebody_elses_project_is_ignored(bob: User, poems: Project, model: ModelChoice) -> None:
    turn = Prompt("Rain?", model, project=poems.pk).store(bob, uuid4())
    assert turn.conversation.project is None
    assert turn.history.messages == [{"role": "user", "content": "Rain?"}]


def test_deleting_a_project_keeps_its_chats(alice: User, alices: Client, poems: Project) -> None:
    chat = alice.conversations.create(title="Ode", project=poems)
    assert post(alices, f"/projects/{poems.pk}/delete/") == (200, "/")
    assert Conversation.objects.get(pk=chat.pk).project is None
    assert "Ode" in alices.get("/conversations/").text


def test_project_chats_are_only_in_the_projects_own_list(
    alice: User, alices: Client, poems: Project
) -> None:
    alice.conversations.create(title="Ode", project=poems)
    alice.conversations.create(title="Sky")
    own = alices.get("/conversations/", {"project": str(poems.pk)}).text
    everyday = alices.get("/conversations/").text
    assert ("Ode" in own, "Sky" in own) == (True, False)
    assert ("Ode" in everyday, "Sky" in everyday) == (False, True)


def test_a_projects_page_has_no_general_suggestions(alices: Client, poems: Project) -> None:
    Suggestion.objects.create(text="Explain a word")
    assert "Explain a word" in alices.get("/").text
    assert "Explain a word" not in alices.get(f"/projects/{poems.pk}/").text
