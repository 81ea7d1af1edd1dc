"""The installation's name, colour and logo: who sets them, what is taken, and where they stand."""

import re
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.core import mail
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError
from django.template.loader import render_to_string
from django.test import Client
from pytest_django import Settings

from chatapp.accounts.second_factor import MFAAdapter
from chatapp.colours import DARK, readable
from chatapp.models import AuditEvent, Installation, Logo, User, branding
from chatapp.models.logos import MOST_BYTES
from tests.support.pictures import SVG, WEBP, claimed_png, jpeg, png

pytestmark = pytest.mark.django_db

PAGE = "/settings/"
LOGIN = "/accounts/login/"
NAME = "Wörk & <b>Söns</b>"
ESCAPED = "Wörk &amp; &lt;b&gt;Söns&lt;/b&gt;"
PURPLE = "#7a1fa2"


@pytest.fixture
def anyone() -> Client:
    return Client(headers={"host": "localhost"})


def upload(data: bytes, name: str = "logo.png") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, data, "image/png")


def fresh(client: Client, path: str) -> str:
    branding.forget()
    return client.get(path).text


def last(action: str) -> dict[str, Any]:
    said: dict[str, Any] = AuditEvent.objects.filter(action=action)[0].detail.said
    return said


# ---- the name


def test_a_name_stands_where_the_apps_own_did(
    olives: Client, anyone: Client, settings: Settings
) -> None:
    assert olives.post(PAGE, {"name": NAME}).status_code == 302
    assert f"<title>Sign in · {ESCAPED}</title>" in anyone.get(LOGIN).text
    for path in ("/", "/people/", "/usage/me/", "/help/", "/nowhere/", "/admin/"):
        page = olives.get(path).text
        assert ESCAPED in page, path
        assert NAME not in page, path
    assert MFAAdapter().get_totp_issuer() == NAME
    settings.EMAIL_URL = "smtp://localhost"
    given = {"address": "dan@example.org", "days": "7", "uses": "1"}
    assert olives.post("/people/invitations/", given).status_code == 302
    assert mail.outbox[0].subject == f"You are invited to {NAME}"
    assert f"you are invited to {NAME}." in mail.outbox[0].body


def test_without_one_the_app_has_its_own(olives: Client, anyone: Client) -> None:
    assert "<title>Sign in · chatapp</title>" in anyone.get(LOGIN).text
    assert MFAAdapter().get_totp_issuer() == "chatapp"
    olives.post(PAGE, {"name": NAME})
    olives.post(PAGE, {"name": ""})
    assert "<title>Sign in · chatapp</title>" in anyone.get(LOGIN).text


@pytest.mark.parametrize("name", ["x" * 41, "two\nlines", "a\u202ereverse"])
def test_a_name_is_one_short_line(olives: Client, name: str) -> None:
    assert olives.post(PAGE, {"name": name}).status_code == 200
    assert not Installation.objects.exists()


# ---- the colour


def test_a_colour_is_a_style_sheet_of_its_own(olives: Client, anyone: Client) -> None:
    assert olives.post(PAGE, {"accent": PURPLE.upper()}).status_code == 302
    dark = readable(PURPLE, DARK)
    path = f"/branding/accent.css?v={PURPLE[1:]}{dark[1:]}"
    for client, page in ((anyone, LOGIN), (olives, "/"), (olives, "/admin/")):
        assert f'href="{path}"' in client.get(page).text
    answer = anyone.get(path)
    assert answer.text == f":root{{--accent:light-dark({PURPLE},{dark})}}"
    assert answer.headers["content-type"] == "text/css; charset=utf-8"
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "vary" not in answer.headers
    other = anyone.get("/branding/accent.css?v=before")
    assert (other.content, other.headers["cache-control"]) == (answer.content, "no-store")


@pytest.mark.parametrize(
    ("colour", "told"),
    [
        ("#ffff00", "is the closest that works"),
        ("red", "t a colour"),
        ("#12345", "t a colour"),
        ("}*{x:0", "t a colour"),
    ],
)
def test_a_colour_that_nobody_could_read_is_refused(olives: Client, colour: str, told: str) -> None:
    assert told in olives.post(PAGE, {"accent": colour}).text
    assert not Installation.objects.exists()


def test_the_apps_own_colour_loads_nothing(olives: Client, anyone: Client) -> None:
    before = fresh(anyone, "/nowhere/")
    assert 'type="color" name="accent" value="#1d6469"' in olives.get(PAGE).text
    olives.post(PAGE, {"accent": "#1d6469"})
    assert Installation.this().accent == ""
    assert fresh(anyone, "/nowhere/") == before
    assert "/branding/" not in before
    assert anyone.get("/branding/accent.css").status_code == 404


# ---- the logo


@pytest.mark.parametrize(
    ("media_type", "data"),
    [("image/png", png(40, 20)), ("image/jpeg", jpeg(1024, 9)), ("image/webp", WEBP)],
)
def test_a_logo_is_served_as_what_it_is_to_everybody(
    olives: Client, anyone: Client, media_type: str, data: bytes
) -> None:
    assert olives.post(PAGE, {"logo": upload(data)}).status_code == 302
    path = Installation.this().logo
    page = anyone.get(LOGIN).text
    assert f'<img class="logo" src="{path}" alt="" width="24" height="24">' in page
    assert f'<link rel="icon" href="{path}">' in page
    answer = anyone.get(path)
    assert (answer.content, answer.headers["content-type"]) == (data, media_type)
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "vary" not in answer.headers
    assert anyone.get("/branding/logo?v=before").headers["cache-control"] == "no-store"
    assert path in olives.get("/people/").text
    assert path in olives.get("/admin/").text


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (SVG, "Choose a PNG, JPEG or WebP image."),
        (b"GIF89a" + bytes(20), "Choose a PNG, JPEG or WebP image."),
        (png(2, 2)[:20], "Choose a PNG, JPEG or WebP image."),
        (png(2, 2) + bytes(MOST_BYTES), "The file is too large. The limit is 256 KiB."),
        (claimed_png(60_000, 60_000), "The limit is 1,024 pixels per side."),
        (png(1025, 1), "The limit is 1,024 pixels per side."),
    ],
)
def test_what_is_no_small_image_is_refused(olives: Client, data: bytes, told: str) -> None:
    assert told in olives.post(PAGE, {"logo": upload(data)}).text
    assert not Logo.objects.exists()
    assert not Installation.objects.exists()


def test_a_logo_is_replaced_and_removed(olives: Client, anyone: Client) -> None:
    olives.post(PAGE, {"logo": upload(png(4, 4))})
    first = Installation.this().logo
    olives.post(PAGE, {"logo": upload(WEBP)})
    second = Installation.this().logo
    assert first != second
    assert Logo.objects.count() == 1
    olives.post(PAGE, {"name": "Kept"})
    assert Installation.this().logo == second
    assert f'src="{second}"' in olives.get(PAGE).text
    olives.post(PAGE, {"removes_logo": "on"})
    assert not Logo.objects.exists()
    assert "/branding/" not in anyone.get(LOGIN).text
    assert anyone.get(second).status_code == 404


# ---- who changes them, and who hears of it


def test_changes_are_recorded_and_the_logo_is_only_said_to_have_changed(olives: Client) -> None:
    olives.post(PAGE, {"name": "One", "accent": PURPLE, "logo": upload(png(4, 4))})
    said = last("installation.changed")
    assert said["before"] == {"name": "", "accent": ""}
    assert said["after"] == {"name": "One", "accent": PURPLE, "logo": "changed"}
    olives.post(PAGE, {"name": "One", "accent": PURPLE, "removes_logo": "on"})
    assert last("installation.changed")["after"] == {"logo": "changed"}


def test_administrators_alone_set_them(alice: User, alices: Client) -> None:
    Installation.objects.create(pk=1, name="One")
    User.objects.filter(pk=alice.pk).update(is_staff=True)
    alice.user_permissions.add(Permission.objects.get(codename="change_installation"))
    assert alices.get(PAGE).status_code == 403
    assert alices.post(PAGE, {"name": "Mine"}).status_code == 403
    assert Installation.this().name == "One"


def test_another_process_hears_of_it_within_ten_seconds(
    anyone: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    anyone.get(LOGIN)
    Installation.objects.bulk_create([Installation(pk=1, name="Elsewhere")])  # not by `save`
    assert "· chatapp</title>" in anyone.get(LOGIN).text
    later = time.monotonic() + 10.1
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert "· Elsewhere</title>" in anyone.get(LOGIN).text


@pytest.mark.django_db(transaction=True)
def test_a_page_asks_no_more_for_it(
    anyone: Client, django_assert_num_queries: Callable[[int], AbstractContextManager[object]]
) -> None:
    Installation.objects.create(pk=1, name="One", accent=PURPLE)
    anyone.get("/nowhere/")
    with django_assert_num_queries(0):
        assert "· One</title>" in anyone.get("/nowhere/").text


def test_pages_go_on_with_what_they_know_while_the_database_is_away(
    anyone: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    branding.remember(branding.Branding("Known"))

    def fail() -> None:
        raise OperationalError("gone")

    branding.forget()
    monkeypatch.setattr(Installation, "of_new_chats", fail)
    assert "· Known</title>" in anyone.get("/nowhere/").text
    assert branding.is_fresh()


@pytest.mark.parametrize("page", ["500.html", "503.html"])
def test_the_page_of_a_failing_server_has_the_name_alone(page: str) -> None:
    branding.remember(branding.Branding(name="Ask us", accent=PURPLE, logo="1"))
    shown = render_to_string(page, {"retry_after": 10})
    assert "Ask us" in shown
    assert re.findall(r"/branding/|#7a1fa2|<img", shown) == []
