"""The installation's name, colour and logo: who may set them, what is accepted, where they show."""

import re
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.core import mail
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError
from django.template.loader import render_to_string
from django.test import Client
from pytest_django import Settings

from chatapp.accounts.second_factor import MFAAdapter
from chatapp.models import AuditEvent, Installation, Logo
from chatapp.models.platform import branding
from chatapp.models.platform.colours import DARK, make_readable
from chatapp.models.platform.logos import MAX_BYTES
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
    branding.expire_branding()
    return client.get(path).text


def last_change(action: str) -> dict[str, Any]:
    detail: dict[str, Any] = AuditEvent.objects.filter(action=action)[0].detail.values
    return detail


# ---- the name


def test_a_name_replaces_the_apps_own_everywhere(
    olives: Client, anyone: Client, settings: Settings
) -> None:
    assert olives.post(PAGE, {"name": NAME}).status_code == 302
    assert f"<title>Sign in · {ESCAPED}</title>" in anyone.get(LOGIN).text
    for path in ("/", "/people/", "/usage/me/", "/help/", "/nowhere/"):
        page = olives.get(path).text
        assert ESCAPED in page, path
        assert NAME not in page, path
    assert MFAAdapter().get_totp_issuer() == NAME
    settings.EMAIL_URL = "smtp://localhost"
    invitation = {"addresses": "dan@example.org", "days": "7", "uses": "1"}
    assert olives.post("/people/invitations/", invitation).status_code == 302
    assert mail.outbox[0].subject == f"You are invited to {NAME}"
    assert f"you are invited to {NAME}." in mail.outbox[0].body


def test_without_a_name_the_app_uses_its_own(olives: Client, anyone: Client) -> None:
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


def test_a_colour_is_served_as_a_style_sheet(olives: Client, anyone: Client) -> None:
    assert olives.post(PAGE, {"accent": PURPLE.upper()}).status_code == 302
    dark = make_readable(PURPLE, DARK)
    path = f"/branding/accent.css?v={PURPLE[1:]}{dark[1:]}"
    for client, page in ((anyone, LOGIN), (olives, "/"), (olives, "/people/")):
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
    ("colour", "expected"),
    [
        ("#ffff00", "is the closest that works"),
        ("red", "t a colour"),
        ("#12345", "t a colour"),
        ("}*{x:0", "t a colour"),
    ],
)
def test_unreadable_and_invalid_colours_are_refused(
    olives: Client, colour: str, expected: str
) -> None:
    assert expected in olives.post(PAGE, {"accent": colour}).text
    assert not Installation.objects.exists()


def test_the_apps_own_colour_needs_no_style_sheet(olives: Client, anyone: Client) -> None:
    before = fresh(anyone, "/nowhere/")
    assert 'type="color" name="accent" value="#1d6469"' in olives.get(PAGE).text
    olives.post(PAGE, {"accent": "#1d6469"})
    assert Installation.load().accent == ""
    assert fresh(anyone, "/nowhere/") == before
    assert "/branding/" not in before
    assert anyone.get("/branding/accent.css").status_code == 404


# ---- the logo


@pytest.mark.parametrize(
    ("media_type", "data"),
    [("image/png", png(40, 20)), ("image/jpeg", jpeg(1024, 9)), ("image/webp", WEBP)],
)
def test_a_logo_is_public_and_served_with_its_media_type(
    olives: Client, anyone: Client, media_type: str, data: bytes
) -> None:
    assert olives.post(PAGE, {"logo": upload(data)}).status_code == 302
    path = Installation.load().logo
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


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (SVG, "Choose a PNG, JPEG or WebP image."),
        (b"GIF89a" + bytes(20), "Choose a PNG, JPEG or WebP image."),
        (png(2, 2)[:20], "Choose a PNG, JPEG or WebP image."),
        (png(2, 2) + bytes(MAX_BYTES), "The file is too large. The limit is 256 KiB."),
        (claimed_png(60_000, 60_000), "The limit is 1,024 pixels per side."),
        (png(1025, 1), "The limit is 1,024 pixels per side."),
    ],
)
def test_large_files_and_other_formats_are_refused_as_logos(
    olives: Client, data: bytes, expected: str
) -> None:
    assert expected in olives.post(PAGE, {"logo": upload(data)}).text
    assert not Logo.objects.exists()
    assert not Installation.objects.exists()


def test_a_logo_is_replaced_and_removed(olives: Client, anyone: Client) -> None:
    olives.post(PAGE, {"logo": upload(png(4, 4))})
    first = Installation.load().logo
    olives.post(PAGE, {"logo": upload(WEBP)})
    second = Installation.load().logo
    assert first != second
    assert Logo.objects.count() == 1
    olives.post(PAGE, {"name": "Kept"})
    assert Installation.load().logo == second
    assert f'src="{second}"' in olives.get(PAGE).text
    olives.post(PAGE, {"removes_logo": "on"})
    assert not Logo.objects.exists()
    assert "/branding/" not in anyone.get(LOGIN).text
    assert anyone.get(second).status_code == 404


# ---- permissions, logging and other processes


def test_changes_are_logged_but_not_the_logos_content(olives: Client) -> None:
    olives.post(PAGE, {"name": "One", "accent": PURPLE, "logo": upload(png(4, 4))})
    logged = last_change("installation.changed")
    assert logged["before"] == {"name": "", "accent": ""}
    assert logged["after"] == {"name": "One", "accent": PURPLE, "logo": "changed"}
    olives.post(PAGE, {"name": "One", "accent": PURPLE, "removes_logo": "on"})
    assert last_change("installation.changed")["after"] == {"logo": "changed"}


def test_only_administrators_can_set_them(alices: Client) -> None:
    Installation.objects.create(pk=1, name="One")
    assert alices.get(PAGE).status_code == 403
    assert alices.post(PAGE, {"name": "Mine"}).status_code == 403
    assert Installation.load().name == "One"


def test_other_processes_notice_a_change_within_ten_seconds(
    anyone: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    anyone.get(LOGIN)
    Installation.objects.bulk_create([Installation(pk=1, name="Elsewhere")])  # bypasses `save`
    assert "· chatapp</title>" in anyone.get(LOGIN).text
    later = time.monotonic() + 10.1
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert "· Elsewhere</title>" in anyone.get(LOGIN).text


@pytest.mark.django_db(transaction=True)
def test_pages_need_no_query_for_the_branding(
    anyone: Client, django_assert_num_queries: Callable[[int], AbstractContextManager[object]]
) -> None:
    Installation.objects.create(pk=1, name="One", accent=PURPLE)
    anyone.get("/nowhere/")
    with django_assert_num_queries(0):
        assert "· One</title>" in anyone.get("/nowhere/").text


def test_pages_keep_the_known_branding_while_the_database_is_unavailable(
    anyone: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    branding.set_branding(branding.Branding("Known"))

    def fail() -> None:
        raise OperationalError("gone")

    branding.expire_branding()
    monkeypatch.setattr(Installation, "load", fail)
    assert "· Known</title>" in anyone.get("/nowhere/").text
    assert branding.is_fresh()


@pytest.mark.parametrize("page", ["500.html", "503.html"])
def test_error_pages_show_only_the_name(page: str) -> None:
    branding.set_branding(branding.Branding(name="Ask us", accent=PURPLE, logo="1"))
    html = render_to_string(page, {"retry_after": 10})
    assert "Ask us" in html
    assert re.findall(r"/branding/|#7a1fa2|<img", html) == []
