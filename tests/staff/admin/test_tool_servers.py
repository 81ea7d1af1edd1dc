"""The admin of tool servers. Olive is a superuser; Stan is staff with permission to edit them."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client

from chatapp.models import ToolServer, User
from tests.conftest import PASSWORD, signed_in
from tests.tools.witness import ROOT, STDIO

ADD = "/admin/chatapp/toolserver/add/"


@pytest.fixture(autouse=True)
def long_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chatapp.tools.registry.CHECK_SECONDS", 60.0)


@pytest.fixture
def stan(db: None) -> User:
    stan = User.objects.create_user("stan", password=PASSWORD, is_staff=True)
    stan.user_permissions.set(Permission.objects.filter(content_type__model="toolserver"))
    return stan


@pytest.fixture
def stans(stan: User) -> Client:
    return signed_in(stan, confirmed=True)


@pytest.fixture
def wiki(db: None) -> ToolServer:
    return ToolServer.objects.create(
        name="wiki", url="http://127.0.0.1:1/mcp", secrets="Authorization: Bearer sk-very-secret"
    )


def change(server: ToolServer) -> str:
    return f"/admin/chatapp/toolserver/{server.pk}/change/"


def build_tools_path(server: ToolServer) -> str:
    return f"/admin/chatapp/toolserver/{server.pk}/tools/"


def fields(**more: Any) -> dict[str, Any]:
    common = {"name": "wiki", "transport": "http", "url": "http://127.0.0.1:1/mcp", "enabled": "on"}
    return {**common, "asks_first": "on", "timeout_seconds": 30, "result_limit_kb": 100, **more}


def test_a_tool_server_asks_first_by_default(olives: Client) -> None:
    assert olives.get(ADD).context["adminform"].form["asks_first"].value()


def test_headers_are_stored_encrypted_and_never_shown(olives: Client, wiki: ToolServer) -> None:
    olives.post(change(wiki), fields(new_secrets="X-Key: sk-other-secret"))
    wiki.refresh_from_db()
    assert wiki.secret_pairs() == {"X-Key": "sk-other-secret"}
    assert "sk-other-secret" not in olives.get(change(wiki)).content.decode()
    with connection.cursor() as cursor:
        cursor.execute("SELECT secrets FROM chatapp_toolserver")
        assert "sk-other-secret" not in cursor.fetchone()[0]


def test_staff_who_may_only_view_see_no_headers(
    stan: User, stans: Client, wiki: ToolServer
) -> None:
    stan.user_permissions.set(Permission.objects.filter(codename="view_toolserver"))
    page = stans.get(change(wiki)).content.decode()
    assert "http://127.0.0.1:1/mcp" in page
    assert "sk-very-secret" not in page


def test_an_empty_field_keeps_the_headers_and_a_checkbox_deletes_them(
    olives: Client, wiki: ToolServer
) -> None:
    olives.post(change(wiki), fields(timeout_seconds=5))
    wiki.refresh_from_db()
    assert (wiki.timeout_seconds, len(wiki.secret_pairs())) == (5, 1)
    olives.post(change(wiki), fields(forget_secrets="on"))
    wiki.refresh_from_db()
    assert wiki.secret_pairs() == {}


def test_stored_headers_are_not_sent_to_another_address(stans: Client, wiki: ToolServer) -> None:
    page = stans.post(change(wiki), fields(url="https://elsewhere.test/mcp"))
    assert "The stored values were meant for the old address" in page.content.decode()
    wiki.refresh_from_db()
    assert wiki.url == "http://127.0.0.1:1/mcp"


def test_only_a_superuser_may_set_a_command(olives: Client, stans: Client) -> None:
    command = fields(transport="stdio", url="", command="true")
    page = stans.post(ADD, command)
    assert "only a superuser may set one" in page.content.decode()
    assert not ToolServer.objects.exists()
    olives.post(ADD, command)
    assert ToolServer.objects.get().command == "true"


def test_only_a_superuser_may_change_a_command(stans: Client, wiki: ToolServer) -> None:
    ToolServer.objects.update(transport="stdio", command="true")
    assert stans.post(change(wiki), fields(name="mine")).status_code == 403
    assert ToolServer.objects.get().name == "wiki"


def test_the_button_shows_why_a_server_cannot_be_reached(olives: Client, wiki: ToolServer) -> None:
    assert build_tools_path(wiki) in olives.get(change(wiki)).content.decode()
    page = olives.post(build_tools_path(wiki)).content.decode()
    assert "The tool server wiki can&#x27;t be reached (All connection attempts failed)." in page


def test_the_button_shows_the_tools_of_a_server(olives: Client, wiki: ToolServer) -> None:
    ToolServer.objects.update(
        transport="stdio", command=STDIO, secrets=f"PYTHONPATH={ROOT}", unasked_tools="echo"
    )
    page = " ".join(olives.post(build_tools_path(wiki)).content.decode().split())
    assert '<th scope="row">echo</th> <td>runs</td> <td>Gives back what it is given.</td>' in page
    assert '<th scope="row">slow</th> <td>asks first</td> <td>Runs until it is' in page
    assert "&lt;img src=x&gt;long" in page
