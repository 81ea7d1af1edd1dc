"""The pages of tool servers under the settings. Olive is an administrator."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client

from chatapp.models import AuditEvent, ToolServer
from tests.support.page import parse
from tests.tools.witness import ROOT, STDIO

pytestmark = pytest.mark.django_db

LIST, NEW = "/settings/tools/", "/settings/tools/new/"


@pytest.fixture
def wiki(db: None) -> ToolServer:
    return ToolServer.objects.create(
        name="wiki", url="http://127.0.0.1:1/mcp", secrets="Authorization: Bearer sk-very-secret"
    )


def build_page_path(server: ToolServer) -> str:
    return f"/settings/tools/{server.pk}/"


def fields(**more: Any) -> dict[str, Any]:
    common = {"name": "wiki", "transport": "http", "url": "http://127.0.0.1:1/mcp", "enabled": "on"}
    return {**common, "asks_first": "on", "timeout_seconds": 30, "result_limit_kb": 100, **more}


def newest() -> tuple[str, dict[str, Any]]:
    event = AuditEvent.objects.select_related("detail").latest("sequence")
    return event.action, event.detail.values if event.detail else {}


def test_an_empty_list_says_what_models_can_call(olives: Client) -> None:
    assert "models can only call the built-in clock" in olives.get(LIST).text


def test_a_server_is_connected_and_recorded_without_its_secrets(olives: Client) -> None:
    answer = olives.post(NEW, fields(new_secrets="X-Key: sk-new-secret"))
    server = ToolServer.objects.get()
    assert (answer.status_code, answer.headers["location"]) == (
        307,
        f"{build_page_path(server)}tools/",
    )
    assert server.secret_pairs() == {"X-Key": "sk-new-secret"}
    action, detail = newest()
    assert action == "toolserver.added"
    assert detail["after"]["new_secrets"] == "changed"
    assert detail["after"]["url"] == "http://127.0.0.1:1/mcp"
    assert "sk-new-secret" not in olives.get(build_page_path(server)).text
    assert "sk-new-secret" not in str(detail)


def test_a_new_server_asks_first_and_its_secrets_are_stored_encrypted(olives: Client) -> None:
    asks_first = parse(olives.get(NEW).text).find("input", name="asks_first")
    assert "checked" in asks_first.attributes
    olives.post(NEW, fields(new_secrets="X-Key: sk-new-secret"))
    with connection.cursor() as cursor:
        cursor.execute("SELECT secrets FROM chatapp_toolserver")
        assert "sk-new-secret" not in cursor.fetchone()[0]


def test_an_empty_field_keeps_the_headers_and_a_checkbox_deletes_them(
    olives: Client, wiki: ToolServer
) -> None:
    olives.post(build_page_path(wiki), fields(timeout_seconds=5))
    wiki.refresh_from_db()
    assert len(wiki.secret_pairs()) == 1
    olives.post(build_page_path(wiki), fields(forget_secrets="on"))
    wiki.refresh_from_db()
    assert wiki.secret_pairs() == {}


def test_connecting_lists_the_tools(olives: Client) -> None:
    server = {"transport": "stdio", "command": STDIO, "new_secrets": f"PYTHONPATH={ROOT}"}
    page = olives.post(NEW, fields(**server), follow=True).text
    assert "<code hx-ignore>echo</code>" in page


@pytest.mark.parametrize(
    ("typed", "name"),
    [("Company Wiki", "company-wiki"), (" Café_Menü! ", "cafe-menu"), ("a--b", "a-b")],
)
def test_a_name_is_made_of_what_was_typed(olives: Client, typed: str, name: str) -> None:
    olives.post(NEW, fields(name=typed))
    assert ToolServer.objects.get().name == name


def test_only_changed_settings_are_recorded(olives: Client, wiki: ToolServer) -> None:
    olives.post(build_page_path(wiki), fields(timeout_seconds=5))
    changed = {"before": {"timeout_seconds": 30}, "after": {"timeout_seconds": 5}}
    assert newest() == ("toolserver.changed", {"about": "wiki", **changed})
    count = AuditEvent.objects.count()
    olives.post(build_page_path(wiki), fields(timeout_seconds=5))
    assert AuditEvent.objects.count() == count


def test_stored_headers_are_not_sent_to_another_address(olives: Client, wiki: ToolServer) -> None:
    page = olives.post(build_page_path(wiki), fields(url="https://elsewhere.test/mcp")).text
    assert "The stored values were meant for the old address" in page
    assert parse(page).find_all("h1")[0].text == "wiki"
    wiki.refresh_from_db()
    assert wiki.url == "http://127.0.0.1:1/mcp"


def test_a_refused_form_keeps_what_was_entered_and_names_the_stored_server(
    olives: Client, wiki: ToolServer
) -> None:
    page = parse(olives.post(build_page_path(wiki), fields(name="维基")).text)
    assert page.find("h1").text == "wiki"
    assert page.find("input", name="name").attributes["value"] == "维基"


def test_the_tools_of_a_server_are_listed(olives: Client, wiki: ToolServer) -> None:
    ToolServer.objects.update(
        transport="stdio", command=STDIO, secrets=f"PYTHONPATH={ROOT}", unasked_tools="echo"
    )
    page = olives.post(f"{build_page_path(wiki)}tools/").text
    rows = [
        [" ".join(cell.text.split()) for cell in row.elements[:2]]
        for row in parse(page).find("tbody").find_all("tr")
    ]
    assert ["Echo echo", "Nobody is asked"] in rows
    assert ["Slow slow", "People are asked"] in rows
    assert ["Sum of <b>two</b> add", "People are asked"] in rows
    assert "&lt;img src=x&gt;long" in page
    assert newest()[0] == "toolserver.checked"


def test_a_server_that_cannot_be_reached_says_why(olives: Client, wiki: ToolServer) -> None:
    page = olives.post(f"{build_page_path(wiki)}tools/").text
    assert "The tool server wiki can&#39;t be reached" in page


def test_a_deleted_server_is_gone_from_the_list(olives: Client, wiki: ToolServer) -> None:
    assert "wiki" in olives.get(LIST).text
    olives.post(f"{build_page_path(wiki)}delete/")
    assert newest()[0] == "toolserver.deleted"
    assert "No tool server is connected yet" in olives.get(LIST).text
