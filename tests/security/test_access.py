"""Who gets what: every address with everybody, by one table.

An address that the table does not know fails the tests. So does a word of Alice's in an answer to
anybody who is not her reader, a key in anybody's, and a row that looking and refused posts changed.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import StringIO
from itertools import chain
from uuid import uuid4

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import Group, Permission
from django.contrib.sessions.models import Session
from django.core import serializers
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.http import HttpResponseBase
from django.test import AsyncClient
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from chatapp.models import (
    CacheEntry,
    Conversation,
    Message,
    ReplyImage,
    Suggestion,
    ToolServer,
    Upstream,
    User,
)
from tests.conftest import PASSWORD
from tests.stored import end, reply_of

pytestmark = pytest.mark.django_db(transaction=True)

CAST = ("nobody", "alice", "bob", "stan", "rita", "olive")
"""Alice owns what the addresses name; Bob is another person; Stan is staff without a right; Rita
is staff and may view everything; Olive is a superuser."""
FORMER = ("deactivated", "signed out", "deleted")
"""Superusers whose sessions were opened before they lost them: they are nobody."""
PRIVATE = ("alicetitlecanary", "alicepromptcanary", "aliceanswercanary", "alicethoughtcanary")
READERS = {"alice", "rita", "olive"}
KEYS = ("sk-keycanary", "toolsecretcanary")

# What each of the cast gets, in that order: a status, or "in" for the way to the sign-in.
ANYBODY = "200 200 200 200 200 200"
MEMBERS = "in  200 200 200 200 200"
OWNER = "  in  200 404 404 404 404"
STAFF = "  in  in  in  200 200 200"
VIEWERS = "in  in  in  403 200 200"
ROOT = "   in  in  in  403 403 200"
NO_ONE = " in  in  in  403 403 403"
NOT_THERE = "404 404 404 404 404 404"
NOT_IN_ADMIN = "in in in 404 404 404"
POSTED = " 405 405 405 405 405 405"
POSTED_IN_ADMIN = "in in in 405 405 405"
ELSEWHERE = "302 302 302 302 302 302"
ELSEWHERE_IN_ADMIN = "in in in 302 302 302"
NEWCOMERS = "200 302 302 302 302 302"

TABLE = {
    "": MEMBERS,
    "c/<uuid:pk>/": OWNER,
    "c/<uuid:pk>/rename/": POSTED,
    "c/<uuid:pk>/delete/": POSTED,
    "models/": MEMBERS,
    "conversations/": MEMBERS,
    "replies/<uuid:pk>/confidence/": OWNER,
    "replies/<uuid:pk>/markdown/": OWNER,
    "replies/<uuid:pk>/images/<int:position>/": "in 200 404 404 200 200",  # and who reviews
    "help/": MEMBERS,
    "setup/<str:token>/": ELSEWHERE,  # there is an account
    "accounts/login/": NEWCOMERS,
    "accounts/logout/": MEMBERS,
    "accounts/signed-out/": ANYBODY,
    "accounts/signup/": NEWCOMERS,
    "accounts/inactive/": ANYBODY,
    "accounts/password/change/": MEMBERS,
    "accounts/password/set/": "in 302 302 302 302 302",  # everybody has one
    "accounts/password/reset/": ANYBODY,
    "accounts/reauthenticate/": MEMBERS,
    "admin/": STAFF,
    "admin/login/": "in 403 403 302 302 302",
    "admin/logout/": "302 302 302 405 405 405",
    "admin/password_change/": "in in in 302 302 302",
    "admin/password_change/done/": STAFF,
    "admin/autocomplete/": NO_ONE,
    "admin/jsi18n/": STAFF,
    "admin/r/<path:rest>": NOT_THERE,
    "admin/r/<path:content_type_id>/<path:object_id>/": NOT_THERE,  # behind the one above
    "admin/chatapp/user/<id>/password/": ROOT,
    "admin/chatapp/upstream/<path:object_id>/check/": POSTED_IN_ADMIN,
    "admin/chatapp/toolserver/<path:object_id>/tools/": POSTED_IN_ADMIN,
    "admin/^(?P<app_label>chatapp|auth)/$": "in in in 404 200 200",
    "admin/(?P<url>.*)$": NOT_IN_ADMIN,
    "probe/seen": NOT_THERE,
    "probe/trickle": NOT_THERE,
    "probe/body": POSTED,
    "healthz": ANYBODY,
    "readyz": ANYBODY,
    "metrics": NOT_THERE,
}
for model in (
    "auth/group",
    *(f"chatapp/{one}" for one in ("user", "upstream", "toolserver", "suggestion")),
):
    TABLE |= {
        f"admin/{model}/": VIEWERS,
        f"admin/{model}/add/": ROOT,
        f"admin/{model}/<path:object_id>/history/": VIEWERS,
        f"admin/{model}/<path:object_id>/delete/": ROOT,
        f"admin/{model}/<path:object_id>/change/": VIEWERS,
        f"admin/{model}/<path:object_id>/": ELSEWHERE_IN_ADMIN,
    }
TABLE |= {
    "admin/chatapp/conversation/": VIEWERS,
    "admin/chatapp/conversation/add/": NO_ONE,
    "admin/chatapp/conversation/<path:object_id>/history/": VIEWERS,
    "admin/chatapp/conversation/<path:object_id>/delete/": NO_ONE,
    "admin/chatapp/conversation/<path:object_id>/change/": VIEWERS,
    "admin/chatapp/conversation/<path:object_id>/": ELSEWHERE_IN_ADMIN,
}
HERS = ("c/<uuid:pk>/rename/", "c/<uuid:pk>/delete/")
"""What Alice may post, as tests/chat/test_keeping.py has it."""


def routes(patterns: list[URLPattern | URLResolver], before: str = "") -> Iterator[str]:
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            yield route
        else:
            yield from routes(pattern.url_patterns, route)


@dataclass
class House:
    """Alice's things, what Olive set up, and everybody's browser."""

    conversation: Conversation
    reply: Message
    objects: dict[str, object]  # their primary keys, by the model's name in an address
    clients: dict[str, AsyncClient]

    def path(self, route: str) -> str:
        """An address of the route that names these things."""
        for model, key in self.objects.items():
            if f"/{model}/" in route:
                route = route.replace("<path:object_id>", str(key)).replace("<id>", str(key))
        for pattern, value in {
            "c/<uuid:pk>": f"c/{self.conversation.pk}",
            "replies/<uuid:pk>": f"replies/{self.reply.pk}",
            "<int:position>": "0",
            "<str:token>": "0" * 32,
            "<path:content_type_id>": "1",
            "<path:rest>": "1/1/",
            "<path:object_id>": "1",
            "^(?P<app_label>chatapp|auth)/$": "chatapp/",
            "(?P<url>.*)$": "no/such/page/",
        }.items():
            route = route.replace(pattern, value)
        return "/" + route


@pytest.fixture
def house(alice: User, bob: User, olive: User, generations_end: None) -> House:
    cache.clear()  # or the tests before this would have used up the sign-ins
    upstream = Upstream.objects.create(
        name="Fake", base_url="http://127.0.0.1:9/v1", api_key=KEYS[0], offered_models="one"
    )
    server = ToolServer.objects.create(
        name="wiki", url="http://127.0.0.1:9/mcp", secrets=f"X-Key: {KEYS[1]}", enabled=False
    )
    conversation = alice.conversations.create(title=PRIVATE[0])
    _, reply = conversation.ask(uuid4(), PRIVATE[1], None, upstream, "one", uuid4())
    end(reply, reply_of(PRIVATE[2], PRIVATE[3]))
    ReplyImage.objects.create(
        message=reply, position=0, media_type="image/gif", data=b"GIF89a" + PRIVATE[2].encode()
    )
    User.objects.create_user("stan", password=PASSWORD, is_staff=True)
    rita = User.objects.create_user("rita", password=PASSWORD, is_staff=True)
    rita.user_permissions.set(Permission.objects.filter(codename__startswith="view_"))
    clients = {"nobody": AsyncClient()} | {name: signed_in(name) for name in CAST[1:]}
    for name in FORMER:
        User.objects.create_superuser(name, password=PASSWORD)
        clients[name] = signed_in(name)
    User.objects.filter(username="deactivated").update(is_active=False)
    async_to_sync(clients["signed out"].post)(reverse("account_logout"))
    User.objects.get(username="deleted").delete()
    objects = {
        "user": alice.pk,
        "conversation": conversation.pk,
        "upstream": upstream.pk,
        "toolserver": server.pk,
        "suggestion": Suggestion.objects.create(text="Explain a word").pk,
        "group": Group.objects.create(name="g").pk,
    }
    return House(conversation, reply, objects, clients)


def signed_in(name: str) -> AsyncClient:
    """By the sign-in page, so that the password was given just now."""
    client = AsyncClient()
    fields = {"login": name, "password": PASSWORD}
    answer = async_to_sync(client.post)(reverse("account_login"), fields)
    assert answer.status_code == 302, answer.content.decode()
    return client


def everything() -> str:
    """All rows but those of sessions, which any request may renew, and of counted attempts."""
    models = [model for model in apps.get_models() if model not in (Session, CacheEntry)]
    rows = chain.from_iterable(model._default_manager.order_by("pk") for model in models)
    told: str = serializers.serialize("json", rows)
    return told


def verdict(answer: HttpResponseBase) -> str:
    goes_to = answer.headers.get("location", "")
    return (
        "in"
        if goes_to.startswith(("/accounts/login/", "/admin/login/"))
        else str(answer.status_code)
    )


def test_the_table_knows_every_address() -> None:
    assert set(routes(get_resolver().url_patterns)) == set(TABLE)


@pytest.mark.parametrize("name", [*CAST, *FORMER])
async def test_everybody_gets_what_is_theirs_and_nothing_else(house: House, name: str) -> None:
    column = CAST.index(name) if name in CAST else CAST.index("nobody")
    expected = {route: row.split()[column] for route, row in TABLE.items()}
    if name == "deactivated":
        expected["conversations/"] = "403"  # by which a page knows that this is no sign-out
    before = await sync_to_async(everything)()
    got = {}
    for route in TABLE:
        answer = await house.clients[name].get(house.path(route))
        got[route] = verdict(answer)
        page = answer.content.decode()
        assert not [key for key in KEYS if key in page], route
        assert name in READERS or not [word for word in PRIVATE if word in page], route
    assert got == expected
    assert await sync_to_async(everything)() == before


@pytest.mark.parametrize("name", ["alice", "rita", "olive"])
async def test_an_image_is_kept_by_no_browser_and_runs_nothing(house: House, name: str) -> None:
    """Whoever has the browser next would find it there."""
    image = house.path("replies/<uuid:pk>/images/<int:position>/")
    answer = await house.clients[name].get(image, headers={"Range": "bytes=0-2"})
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/gif")
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    for position in ("1", "-1", "99999999999999999999", "0.svg"):
        other = await house.clients[name].get(image.replace("/0/", f"/{position}/"))
        assert other.status_code in (400, 404)


@pytest.mark.parametrize(
    "said",
    ["", "Bearer", "Bearer ", "bearer tok", "Basic tok", "Bearer töken", "Bearer tokentoken"],
)
@pytest.mark.parametrize("name", ["nobody", "alice", "olive"])
async def test_who_says_no_token_gets_no_metrics(
    house: House, monkeypatch: pytest.MonkeyPatch, name: str, said: str
) -> None:
    """Whoever they are."""
    monkeypatch.setattr(settings, "CHATAPP_METRICS_TOKEN", "token")
    client = house.clients[name]
    answer = await client.get("/metrics", headers={"Authorization": said})
    assert (answer.status_code, answer.content) == (401, b"")
    answer = await client.get("/metrics", headers={"Authorization": "Bearer token"})
    assert answer.status_code == 200
    assert not [word for word in (*PRIVATE, *KEYS, "alice") if word in answer.content.decode()]


def test_no_command_that_tells_of_an_installation_tells_a_secret(house: House) -> None:
    """The doctor and the check of an upstream that is away; what they print is sent to others."""
    for words in (["doctor"], ["check_upstream", "Fake"]):
        told = StringIO()
        with suppress(SystemExit, CommandError):
            call_command(*words, stdout=told, stderr=told)
        assert told.getvalue()
        secrets = (*KEYS, *PRIVATE, settings.SECRET_KEY)
        assert not [secret for secret in secrets if secret in told.getvalue()], words


@pytest.mark.parametrize("name", ["nobody", "alice", "bob", "stan", "rita", *FORMER])
async def test_who_may_not_look_may_not_post(house: House, name: str) -> None:
    """Nor may who may only look change anything; nor anybody what is Alice's but Alice."""
    column = CAST.index(name) if name in CAST else CAST.index("nobody")
    before = await sync_to_async(everything)()
    for route, row in TABLE.items():
        if route in ("accounts/logout/", "admin/logout/") or (name == "alice" and route in HERS):
            continue
        looked = row.split()[column]
        posted = verdict(await house.clients[name].post(house.path(route), {"post": "yes"}))
        assert posted != "200" or looked in ("200", "302"), route
        assert route not in HERS or posted == ("in" if CAST[column] == "nobody" else "404")
    assert await sync_to_async(everything)() == before
