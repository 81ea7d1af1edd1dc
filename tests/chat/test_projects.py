"""Projects: what their owner may say of them, and what their chats are told."""

from uuid import uuid4

import pytest
from channels.db import database_sync_to_async
from django.test import Client
from pytest_django import Settings

from chatapp.chat import projects as views
from chatapp.models import Conversation, ModelChoice, Project, Prompt, Retry, Upstream, User
from tests.support.page import Page
from tests.support.stored import end, reply_of

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}
SYSTEM = {"role": "system", "content": "Rhyme."}


@pytest.fixture
def poems(alice: User) -> Project:
    project: Project = alice.projects.create(name="Poems", instructions="Rhyme.")
    return project


@pytest.fixture
def model(connected: Upstream) -> ModelChoice:
    return ModelChoice(connected.pk, "m")


def post(client: Client, path: str, **fields: str) -> tuple[int, str]:
    answer = client.post(path, fields, headers=HTMX)
    return answer.status_code, answer.content.decode()


def test_one_is_made_with_a_name_and_nothing_else(alice: User, alices: Client) -> None:
    status, address = post(alices, "/projects/", name="  Big\n plans ")
    project = alice.projects.get()
    assert (status, address) == (200, f"/projects/{project.pk}/")
    assert (project.name, project.instructions, project.preset) == ("Big plans", "", None)


def test_its_model_is_one_that_can_be_asked(
    alices: Client, poems: Project, connected: Upstream
) -> None:
    path = f"/projects/{poems.pk}/change/"
    assert post(alices, path, name="Poems", preset=f"{connected.pk}/big")[0] == 200
    poems.refresh_from_db()
    assert poems.preset == ModelChoice(connected.pk, "big")
    assert post(alices, path, name="Poems", preset="99/big")[0] == 422
    assert post(alices, path, name="Poems")[0] == 200
    poems.refresh_from_db()
    assert poems.preset is None


def test_one_that_takes_up_too_much_is_refused_with_what_to_do(
    alices: Client, poems: Project, settings: Settings
) -> None:
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
async def test_its_model_stays_while_it_can_t_be_asked(
    alices: Client, poems: Project, connected: Upstream, is_connected: bool
) -> None:
    """What is saved is what its page has chosen."""
    poems.upstream, poems.model = connected, "big"  # which the upstream does not list
    await poems.asave()
    connected.enabled = is_connected
    await connected.asave()
    drawn = await database_sync_to_async(alices.get)(f"/projects/{poems.pk}/")
    page = Page(drawn.text)
    [choice] = page.root.find_all("select", name="preset")
    [chosen] = [one for one in choice.find_all("option") if "selected" in one.attributes]
    assert chosen.text.strip() == "big"
    path = f"/projects/{poems.pk}/change/"
    preset = chosen.attributes["value"]
    saved, _ = await database_sync_to_async(post)(alices, path, name="Odes", preset=preset)
    assert saved == 200
    poems = await Project.objects.aget(pk=poems.pk)
    assert (poems.name, poems.preset) == ("Odes", ModelChoice(connected.pk, "big"))


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"name": " "}, "Type a name first."),
        ({"name": "x" * 81}, "A name has at most 80 characters."),
        ({"name": "x", "instructions": "y" * 20_001}, "at most 20000 characters"),
        ({"name": "a\0b"}, "Null characters are not allowed."),
    ],
)
def test_what_can_t_be_kept_is_refused_with_a_sentence(
    alices: Client, poems: Project, fields: dict[str, str], reason: str
) -> None:
    for path in ("/projects/", f"/projects/{poems.pk}/change/"):
        status, told = post(alices, path, **fields)
        assert (status, reason in told) == (422, True), told


def test_there_is_an_end_of_projects(
    alices: Client, poems: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "MOST_PROJECTS", 1)
    assert post(alices, "/projects/", name="One more")[0] == 422


def test_nobody_else_reaches_it(bobs: Client, olives: Client, poems: Project) -> None:
    for client in (bobs, olives):
        for what in ("change", "delete"):
            assert post(client, f"/projects/{poems.pk}/{what}/", name="Theirs")[0] == 404
        listed = client.get("/conversations/", {"project": str(poems.pk)})
        assert "Poems" not in listed.text
    poems.refresh_from_db()
    assert poems.name == "Poems"


def test_a_chat_begins_in_it_and_each_turn_is_told_what_it_says_now(
    alice: User, poems: Project, model: ModelChoice
) -> None:
    turn = Prompt("Rain?", model, project=poems.pk).store(alice, uuid4())
    assert turn.conversation.project == poems
    assert turn.history.messages == [SYSTEM, {"role": "user", "content": "Rain?"}]
    end(turn.reply, reply_of("Pain."))
    poems.instructions = "Speak plainly."
    poems.save()
    conversation = turn.conversation.pk
    following = Prompt("Snow?", model, conversation, turn.reply.pk).store(alice, uuid4())
    assert following.history.messages[0] == {"role": "system", "content": "Speak plainly."}
    assert len(following.history.messages) == 4
    end(following.reply, reply_of("White."))
    again = Retry(following.reply.pk, model).store(alice, uuid4())
    assert [one["role"] for one in again.history.messages] == [
        "system",
        "user",
        "assistant",
        "user",
    ]


def test_somebody_elses_project_is_none(bob: User, poems: Project, model: ModelChoice) -> None:
    turn = Prompt("Rain?", model, project=poems.pk).store(bob, uuid4())
    assert turn.conversation.project is None
    assert turn.history.messages == [{"role": "user", "content": "Rain?"}]


def test_a_deleted_one_leaves_its_chats(alice: User, alices: Client, poems: Project) -> None:
    chat = alice.conversations.create(title="Ode", project=poems)
    assert post(alices, f"/projects/{poems.pk}/delete/") == (200, "/")
    assert Conversation.objects.get(pk=chat.pk).project is None
    assert "Ode" in alices.get("/conversations/").text


def test_its_chats_are_on_its_own_list_alone(alice: User, alices: Client, poems: Project) -> None:
    alice.conversations.create(title="Ode", project=poems)
    alice.conversations.create(title="Sky")
    own = alices.get("/conversations/", {"project": str(poems.pk)}).text
    everyday = alices.get("/conversations/").text
    assert ("Ode" in own, "Sky" in own) == (True, False)
    assert ("Ode" in everyday, "Sky" in everyday) == (False, True)
