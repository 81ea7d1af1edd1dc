"""`manage.py setup_link`: prints the link of the server's start again."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from pytest_django import Settings

from chatapp.models import User

pytestmark = pytest.mark.django_db


def read_printed_link() -> str:
    out = StringIO()
    call_command("setup_link", stdout=out)
    return out.getvalue().strip()


@pytest.mark.parametrize(
    ("host", "public", "origin"),
    [
        ("127.0.0.1", "", "http://127.0.0.1:8123"),
        ("::1", "", "http://[::1]:8123"),
        ("10.0.0.1", "https://chat.example.org", "https://chat.example.org"),
    ],
)
def test_the_link_has_the_apps_public_address(
    settings: Settings, host: str, public: str, origin: str
) -> None:
    settings.HOST, settings.PORT, settings.PUBLIC_ORIGIN = host, 8123, public
    link = read_printed_link()
    assert link.startswith(f"{origin}/setup/")
    page = Client(headers={"host": "localhost"}).get(link.removeprefix(origin))
    assert "Create the first account" in page.text


def test_the_link_is_refused_once_an_account_exists() -> None:
    User.objects.create_user("ada")
    with pytest.raises(CommandError, match="An account already exists"):
        read_printed_link()
