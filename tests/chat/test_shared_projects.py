"""Alice shares a project with Bob, who reads it or adds chats; Carol is not a member."""

from collections.abc import Callable
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from chatapp.models import (
    AuditEvent,
    Conversation,
    Installation,
    ModelChoice,
    Preset,
    Project,
    ProjectMember,
    Prompt,
    Upstream,
    User,
)
from chatapp.models.conversations.chats import lists
from chatapp.models.conversations.chats.project_chats import chats_of_others
from tests.support.page import parse

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}
Chat = Callable[[User, str], Conversation]


@pytest.fixture
def carol(db: None) -> User:
    return User.objects.create_user("carol")


@pytest.fixture
def roses(alice: User) -> Project:
    project: Project = alice.projects.create(name="Roses", instructions="Latin names.")
    return project


@pytest.fixture
def chat(roses: Project) -> Chat:
    def begin(user: User, title: str) -> Conversation:
        chat: Conversation = user.conversations.create(title=title, project=roses)
        return chat

    return begin


def share_with(project: Project, may_add: bool = False, **whom: object) -> ProjectMember:
    entry = ProjectMember(may_add=may_add, **whom)
    project.share([entry], project.user)
    member: ProjectMember = project.members.get(**{"person": None, "group": None} | whom)
    return member


def list_readable_titles(user: User, project: Project) -> list[str]:
    return sorted(project_chat.title for project_chat in chats_of_others(project, user))


def list_sidebar_projects(user: User) -> dict[str, tuple[bool, bool]]:
    return {
        project.name: (project.is_own, bool(project.lets_add)) for project in lists.projects(user)
    }


def test_a_project_is_in_the_sidebar_of_its_members_only(
    roses: Project, alice: User, bob: User, carol: User
) -> None:
    bob.projects.create(name="Zinnias")
    assert list_sidebar_projects(alice) == {"Roses": (True, False)}
    assert list_sidebar_projects(bob) == {"Zinnias": (True, False)}
    entry = share_with(roses, person=bob)
    assert list(list_sidebar_projects(bob).items()) == [
        ("Zinnias", (True, False)),
        ("Roses", (False, False)),
    ]
    share_with(roses, may_add=True, person=bob)
    assert list_sidebar_projects(bob)["Roses"] == (False, True)
    assert list_sidebar_projects(carol) == {}
    share_with(roses)
    assert list_sidebar_projects(carol) == {"Roses": (False, False)}
    roses.unshare(entry, roses.user)
    assert list_sidebar_projects(bob)["Roses"] == (False, False)  # as everyone


def test_a_group_that_somebody_leaves_takes_the_project_along(
    roses: Project, bob: User, chat: Chat
) -> None:
    team = Group.objects.create(name="team")
    roses.user.groups.add(team)
    team.user_set.add(bob)
    share_with(roses, may_add=True, group=team)
    mine = chat(bob, "Mine")
    assert list_sidebar_projects(bob) == {"Roses": (False, True)}
    assert list_readable_titles(roses.user, roses) == ["Mine"]
    bob.groups.remove(team)
    mine.refresh_from_db()
    assert (list_sidebar_projects(bob), list_readable_titles(roses.user, roses), mine.project) == (
        {},
        [],
        None,
    )


@pytest.mark.parametrize("how", ["reverse", "clear", "reverse clear", "deleted"])
def test_chats_leave_however_the_group_is_left(
    roses: Project, alice: User, bob: User, chat: Chat, how: str
) -> None:
    team = Group.objects.create(name="team")
    team.user_set.add(alice, bob)
    share_with(roses, may_add=True, group=team)
    mine, hers = chat(bob, "Mine"), chat(alice, "Hers")
    match how:
        case "reverse":
            team.user_set.remove(bob)
        case "clear":
            bob.groups.clear()
        case "reverse clear":
            team.user_set.clear()
        case "deleted":
            team.delete()
    mine.refresh_from_db()
    hers.refresh_from_db()
    assert (mine.project, hers.project) == (None, roses)


def test_members_read_the_chats_of_the_owner_and_of_those_who_may_add(
    roses: Project, alice: User, bob: User, carol: User, chat: Chat
) -> None:
    chat(alice, "Hers")
    share_with(roses, person=carol)
    share_with(roses, may_add=True, person=bob)
    mine = chat(bob, "Mine")
    assert list_readable_titles(carol, roses) == ["Hers", "Mine"]
    assert list_readable_titles(bob, roses) == ["Hers"]
    share_with(roses, person=bob)  # he can only read now
    assert list_readable_titles(carol, roses) == ["Hers"]
    mine.refresh_from_db()
    assert mine.project == roses  # until `move_out_of_projects`, which the page calls


@pytest.mark.parametrize("change", ["archived", "trashed", "temporary", "inactive"])
def test_some_chats_are_not_shown(
    roses: Project, alice: User, bob: User, chat: Chat, change: str
) -> None:
    share_with(roses, person=bob)
    hers = chat(alice, "Hers")
    chats = Conversation.objects.filter(pk=hers.pk)
    match change:
        case "archived":
            chats.archive()
        case "trashed":
            chats.trash()
        case "temporary":
            chats.update(is_temporary=True)
        case "inactive":
            User.objects.filter(pk=alice.pk).update(is_active=False)
    assert list_readable_titles(bob, roses) == []


def test_the_project_and_its_chats_survive_as_their_owners_do(
    roses: Project, alice: User, bob: User, chat: Chat
) -> None:
    share_with(roses, may_add=True, person=bob)
    mine = chat(bob, "Mine")
    alice.delete()
    mine.refresh_from_db()
    assert mine.project is None
    assert not ProjectMember.objects.exists()


def test_the_chats_of_members_get_the_instructions(
    roses: Project, bob: User, carol: User, saved_upstream: Upstream
) -> None:
    model = ModelChoice(saved_upstream.pk, "m")

    def send_prompt() -> list[str]:
        turn = Prompt("Hi", model, project=roses.pk).store(bob, uuid4())
        turn.reply.delete()
        return [str(message["content"]) for message in turn.history.messages]

    assert send_prompt() == ["Hi"]
    share_with(roses, person=bob)
    assert send_prompt() == ["Hi"]
    share_with(roses, may_add=True, person=bob)
    assert send_prompt() == ["Latin names.", "Hi"]
    mine = Conversation.objects.get(project=roses)
    ProjectMember.objects.update(person=carol)  # which sends no signal
    turn = Prompt("Ho", model, mine.pk).store(bob, uuid4())
    assert [message["content"] for message in turn.history.messages][-1] == "Ho"
    assert "Latin names." not in str(turn.history.messages)


def test_the_owner_shares_on_a_page(
    alices: Client, roses: Project, alice: User, bob: User, chat: Chat
) -> None:
    address = f"/projects/{roses.pk}/sharing/"
    assert "Only you can see this project." in alices.get(address).content.decode()
    posted = {"who": "named", "people": "bob", "right": "add"}
    assert alices.post(address, posted).status_code == 302
    assert roses.members.get().person == bob
    mine = chat(bob, "Mine")
    page = alices.get(address).content.decode()
    assert ">bob</span>" in page
    assert '<option value="add" selected>Can add chats</option>' in page
    alices.post(address, {"change": roses.members.get().pk, "right": "read"})
    mine.refresh_from_db()
    assert (roses.members.get().right, mine.project) == ("Can read", None)
    alices.post(address, {"remove": str(roses.members.get().pk)})
    assert not roses.members.exists()
    names = [
        event.action
        for event in AuditEvent.objects.filter(target=str(roses.pk)).order_by("sequence")
    ]
    assert names == ["project.shared", "project.shared", "project.unshared"]


@pytest.mark.parametrize(
    ("posted", "sentence"),
    [
        ({"who": "named"}, "Name at least one person or choose a group."),
        ({"who": "named", "people": "alice"}, "your own account"),
        ({"who": "named", "people": "nobody"}, "Nobody here signs in as"),
        ({"who": "world"}, "not one of the available choices"),
        ({"who": "named", "groups": "1000"}, "Name at least one person or choose a group."),
    ],
)
def test_a_mistake_on_the_page_is_named(
    alices: Client, roses: Project, posted: dict[str, str], sentence: str
) -> None:
    page = alices.post(f"/projects/{roses.pk}/sharing/", posted | {"right": "read"})
    assert sentence in page.content.decode()
    assert not roses.members.exists()


def test_an_administrator_decides_who_may_share(alices: Client, roses: Project) -> None:
    Installation(pk=1, who_shares="administrators").save()
    address = f"/projects/{roses.pk}/sharing/"
    assert "An administrator has decided" in alices.get(address).content.decode()
    alices.post(address, {"who": "everyone", "right": "read"})
    assert not roses.members.exists()


def test_only_the_owner_shares_changes_and_deletes(bobs: Client, roses: Project, bob: User) -> None:
    share_with(roses, may_add=True, person=bob)
    for path in ("sharing", "change", "delete"):
        posted = {"who": "everyone", "right": "read", "name": "Mine"}
        assert bobs.post(f"/projects/{roses.pk}/{path}/", posted).status_code == 404
    roses.refresh_from_db()
    assert roses.name == "Roses"


def test_a_members_page_lists_all_chats_with_their_authors(
    bobs: Client, roses: Project, alice: User, bob: User, chat: Chat
) -> None:
    address = f"/projects/{roses.pk}/"
    assert bobs.get(address).status_code == 404
    share_with(roses, person=bob)
    hers = chat(alice, "Hers")
    page = parse(bobs.get(address).content.decode())
    row = page.find("ul", aria_labelledby="others-heading").find("a")
    assert row.text.split() == ["Hers", "A", "alice"]  # with her initials
    assert row.attributes["href"] == f"/projects/{roses.pk}/c/{hers.pk}/"
    assert "You can read its chats." in page.text
    assert "hidden" in page.find("form", id="composer").attributes
    assert "Latin names." in page.text
    assert not [
        field for field in page.find_all("input") if field.attributes.get("name") == "project"
    ]
    share_with(roses, may_add=True, person=bob)
    page = parse(bobs.get(address).content.decode())
    assert "All members can read the chats that you add to it." in page.text
    assert "hidden" not in page.find("form", id="composer").attributes
    assert page.find("input", name="project").attributes["value"] == str(roses.pk)


def test_the_page_says_that_a_preset_is_missing(
    bobs: Client, roses: Project, alice: User, bob: User
) -> None:
    roses.preset = Preset.start(alice, name="Poet")
    roses.save()
    share_with(roses, may_add=True, person=bob)
    page = bobs.get(f"/projects/{roses.pk}/").content.decode()
    assert "Its preset is not open to you, so your chats start without it." in page
    assert "Poet" not in page


def test_many_chats_of_others_come_in_parts(
    bobs: Client, roses: Project, alice: User, bob: User, chat: Chat
) -> None:
    share_with(roses, person=bob)
    for number in range(65):
        chat(alice, f"Chat {number}")
    page = parse(bobs.get(f"/projects/{roses.pk}/").content.decode())
    more = page.find("ul", aria_labelledby="others-heading").find("button").attributes
    assert more["hx-get"] == f"/projects/{roses.pk}/others/"
    last = list(chats_of_others(roses, bob))[59]
    query = {"before": last.updated_at.isoformat(), "id": str(last.pk)}
    second_part = parse(bobs.get(f"/projects/{roses.pk}/others/", query).content.decode())
    assert len(second_part.find_all("a")) == 5
    assert not second_part.find_all("button")


def test_moving_a_chat_there_says_who_reads_it(bobs: Client, roses: Project, bob: User) -> None:
    mine = bob.conversations.create(title="Mine")
    posted = {"action": "move", "ids": str(mine.pk), "project": str(roses.pk)}
    answers = []
    for may_add in (None, False, True):
        if may_add is not None:
            share_with(roses, may_add=may_add, person=bob)
        answer = bobs.post("/conversations/change/", posted, headers=HTMX)
        answers.append((answer.status_code, answer.content.decode()))
    assert answers == [
        (422, "This project no longer exists."),
        (422, "You can read this project, but not add chats to it."),
        (200, "Moved. The members of “Roses” can read it."),
    ]


def test_a_member_leaves_with_their_chats(
    bobs: Client, roses: Project, bob: User, chat: Chat
) -> None:
    share_with(roses, may_add=True, person=bob)
    mine = chat(bob, "Mine")
    address = f"/projects/{roses.pk}/leave/"
    assert bobs.post(address).status_code == 302
    mine.refresh_from_db()
    assert (mine.project, list_sidebar_projects(bob)) == (None, {})
    assert AuditEvent.objects.latest("sequence").action == "project.left"
    assert bobs.post(address).status_code == 404
    share_with(roses)
    assert bobs.post(address).headers["Location"] == f"/projects/{roses.pk}/"  # as everyone


def test_the_lists_take_as_many_queries_with_any_number_of_projects(
    bobs: Client,
    roses: Project,
    alice: User,
    bob: User,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    with django_assert_num_queries(1):
        lists.projects(bob)
    for number in range(5):
        share_with(alice.projects.create(name=f"{number}"), person=bob)
    with django_assert_num_queries(1):
        assert len(lists.projects(bob)) == 5


def test_own_projects_are_never_crowded_out(alice: User, bob: User) -> None:
    bob.projects.create(name="Zinnias")
    shared = [Project(user=alice, name=f"{number}") for number in range(310)]
    Project.objects.bulk_create(shared)
    ProjectMember.objects.bulk_create([ProjectMember(target=project) for project in shared])
    listed_projects = lists.projects(bob)
    assert (listed_projects[0].name, len(listed_projects)) == ("Zinnias", 300)
