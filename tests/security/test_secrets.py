"""Secrets stored under another SECRET_KEY: reported, kept, and never sent as stored."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from html import unescape
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from cryptography.fernet import Fernet
from django.db import connection
from django.test import Client
from pytest_django import Settings

from chatapp.checks.results import Status
from chatapp.doctor.upstreams import tool_servers
from chatapp.models import Message, ToolServer, Upstream
from chatapp.tools import list_server_tools, shared_registry
from tests.doctor import only
from tests.management import Printed
from tests.support.fake_upstream import FakeUpstream
from tests.support.live import PASSWORD, Server, Site, run
from tests.support.tab import Tab

pytestmark = pytest.mark.django_db

KEY = "sk-very-secret"
OLD, NEW = (letter + "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMN" for letter in "xy")
GONE = "The key of Fake can't be read"


def stored_key() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT api_key FROM chatapp_upstream")
        return str(cursor.fetchone()[0])


@pytest.fixture
def foreign(saved_upstream: Upstream) -> str:
    """Store an API key encrypted with a key that is not ours; return the ciphertext."""
    ciphertext = Fernet(Fernet.generate_key()).encrypt(KEY.encode()).decode()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE chatapp_upstream SET api_key = %s", [ciphertext])
    return ciphertext


@pytest.mark.parametrize("models", ["", "some-model"])
def test_the_page_reports_it_and_nothing_is_sent_upstream(
    alices: Client, upstream: FakeUpstream, foreign: str, models: str, generations_end: None
) -> None:
    Upstream.objects.update(offered_models=models)
    page = unescape(alices.get("/").content.decode())
    assert GONE in page
    assert "An administrator must enter it again." in page
    assert upstream.requests == []


async def test_a_prompt_is_refused_without_the_key(
    tab: Tab, upstream: FakeUpstream, foreign: str
) -> None:
    pk = (await Upstream.objects.aget()).pk
    await tab.send(action="prompt", message="Hello", model=f"{pk}/some-model")
    await tab.until(GONE.replace("'", "&#39;"))
    assert upstream.requests == []
    assert not await Message.objects.aexists()


def test_saving_keeps_a_secret_that_an_old_key_may_still_decrypt(
    saved_upstream: Upstream, foreign: str
) -> None:
    upstream = Upstream.objects.get()
    assert (upstream.api_key, bool(upstream.secret_problem)) == ("", True)
    upstream.name = "Renamed"
    upstream.full_clean()
    upstream.save()
    assert stored_key() == foreign


def test_the_pages_report_it_and_accept_a_new_key(
    olives: Client, upstream: FakeUpstream, saved_upstream: Upstream, foreign: str
) -> None:
    path = f"/settings/models/{saved_upstream.pk}/"
    page = olives.get(path).text
    assert "Can&#39;t be read: enter it again" in page
    form = olives.get(f"{path}address/").text
    assert "The stored key can't be read" in form
    assert foreign not in page + form
    assert "Its key can't be read" in olives.post(f"{path}test/").text
    assert upstream.requests == []
    fields = {"name": "Fake", "base_url": saved_upstream.base_url}
    elsewhere = fields | {"base_url": "http://elsewhere.test/v1"}
    moved = olives.post(f"{path}address/", elsewhere).text
    assert "The stored key was entered for another server" in moved
    assert stored_key() == foreign
    answer = olives.post(f"{path}address/", fields | {"new_api_key": "sk-new"})
    assert answer.status_code == 302
    assert Upstream.objects.get().api_key == "sk-new"


@pytest.mark.django_db(transaction=True)
def test_a_tool_server_is_not_contacted_without_its_headers(
    olives: Client, alices: Client, db: None
) -> None:
    server = ToolServer.objects.create(name="wiki", url="http://127.0.0.1:1/mcp", secrets="A: b")
    ciphertext = Fernet(Fernet.generate_key()).encrypt(b"A: b").decode()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE chatapp_toolserver SET secrets = %s", [ciphertext])
    server = ToolServer.objects.get()
    tools, problem = async_to_sync(list_server_tools)(server)
    assert (tools, problem) == ([], server.secret_problem)
    assert async_to_sync(shared_registry().problems)() == [server.secret_problem]
    page = olives.get(f"/settings/tools/{server.pk}/").text
    assert "wiki can&#x27;t be read" in page
    finding = only(tool_servers())
    assert finding.status is Status.FAILED
    assert ciphertext not in finding.finding + finding.remedy


def test_rotated_secrets_no_longer_need_the_old_key(
    saved_upstream: Upstream, settings: Settings, forget_keys: Callable[[], None]
) -> None:
    ToolServer.objects.create(name="wiki", url="http://127.0.0.1:1/mcp", secrets="A: b")
    before = stored_key()
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = NEW
    forget_keys()
    rotated = Printed("rotate_secrets")
    assert rotated.problem == ""
    assert rotated.out == "2 stored secrets are now encrypted with SECRET_KEY.\n"
    assert stored_key() != before
    settings.SECRET_KEY_FALLBACKS = []
    forget_keys()
    assert (Upstream.objects.get().api_key, ToolServer.objects.get().secrets) == (KEY, "A: b")
    settings.SECRET_KEY = OLD
    forget_keys()
    assert Printed("rotate_secrets").problem.startswith(GONE)


@pytest.fixture
def forget_keys() -> Iterator[Callable[[], None]]:
    """Return a function that makes fields read the secret keys from the settings again."""

    def forget() -> None:
        for field in (Upstream._meta.get_field("api_key"), ToolServer._meta.get_field("secrets")):
            for name in ("keys", "f"):
                with suppress(AttributeError):
                    delattr(field, name)

    yield forget
    forget()


@pytest.mark.thorough
def test_changing_the_secret_key_step_by_step(site: Site, upstream: FakeUpstream) -> None:
    """A new key alone is reported; with the old one as fallback it works; after rotation it works
    alone."""
    server = site.server(OPENAI_BASE_URL=upstream.base_url, SECRET_KEY=OLD)
    make = f"""
from chatapp.models import Upstream
Upstream.objects.create(name="Fake", base_url={upstream.base_url!r}, api_key={KEY!r})
"""
    server.run(make)
    server.environment["SECRET_KEY"] = NEW
    with server:
        server.wait_for(r"The key of Fake can't be read")
        assert GONE in unescape(chat(server))
    assert not [request for request in upstream.requests if says_anything(request)]
    process = run(server.environment, "manage.py", "rotate_secrets", check=False)
    assert process.returncode == 1
    assert GONE in process.stderr
    server.environment["SECRET_KEY_FALLBACKS"] = f"another-key, {OLD}"
    with server:
        assert "can't be read" not in unescape(chat(server))
    assert [request for request in upstream.requests if says_anything(request)]
    process = run(server.environment, "manage.py", "rotate_secrets")
    assert process.stdout == "1 stored secrets are now encrypted with SECRET_KEY.\n"
    del server.environment["SECRET_KEY_FALLBACKS"]
    with server:
        assert "can't be read" not in unescape(chat(server))


def says_anything(request: Any) -> bool:
    header: str = request.headers.get("authorization", "")
    assert header in ("", f"Bearer {KEY}")
    return bool(header)


def chat(server: Server) -> str:
    """Sign in as Olive and return the chat page."""
    with server.visit() as client:
        client.get("/accounts/login/")
        token = {"csrfmiddlewaretoken": client.cookies["csrftoken"]}
        fields = {"login": "olive", "password": PASSWORD}
        client.post("/accounts/login/", data=fields | token, headers={"referer": server.url})
        page = client.get("/")
        assert page.status_code == 200
        return page.text
