"""`manage.py setup_link`: the link that the server printed, once more."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from pytest_django import Settings

from chatapp.models import User

pytestmark = pytest.mark.django_db


def printed() -> str:
    out = StringIO()
    call_command("setup_link", stdout=out)
    return out.getvalue().strip()


@pytest.mark.parametrize(
    ("host", "origins", "origin"),
    [
        ("127.0.0.1", [], "http://127.0.0.1:8123"),
        ("::1", [], "http://[::1]:8123"),
        (
            "10.0.0.1",
            ["https://*.example.org", "https://chat.example.org"],
            "https://chat.example.org",
        ),
    ],
)
def test_the_link_is_printed_where_people_reach_the_app(
    settings: Settings, host: str, origins: list[str], origin: str
) -> None:
    settings.HOST, settings.PORT, settings.CSRF_TRUSTED_ORIGINS = host, 8123, origins
    link = printed()
    assert link.startswith(f"{origin}/setup/")
    page = Client(headers={"host": "localhost"}).get(link.removeprefix(origin))
    assert "Create the first account" in page.text


def test_there_is_none_once_there_is_an_account() -> None:
    User.objects.create_user("ada")
    with pytest.raises(CommandError, match="There is an account already"):
        printed()
