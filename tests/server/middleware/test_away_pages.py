"""Pages while the database is down, and pages with a bug."""

from html import unescape

import pytest
from django.db import IntegrityError, InterfaceError, OperationalError
from django.test import Client

from chatapp.chat import sidebar

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("error", [OperationalError("gone"), InterfaceError("closed")])
def test_a_page_without_its_database_is_a_503_without_traceback(
    alices: Client,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
) -> None:
    def fail(*args: object, **options: object) -> None:
        raise error

    monkeypatch.setattr(sidebar, "build_context", fail)
    answer = alices.get("/conversations/")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "10")
    page = answer.content.decode()
    assert "The database can't be reached" in unescape(page)
    assert 'data-retry-after="10"' in page
    records = [
        record
        for record in caplog.records
        if record.name == "chatapp.server.middleware.database_away"
    ]
    assert [record.getMessage() for record in records] == [
        f"The database can't be reached: {error}"
    ]
    assert not any(record.exc_info for record in caplog.records)


def test_an_integrity_error_stays_a_500(alices: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object) -> None:
        raise IntegrityError("twice")

    monkeypatch.setattr(sidebar, "build_context", fail)
    alices.raise_request_exception = False
    assert alices.get("/conversations/").status_code == 500
