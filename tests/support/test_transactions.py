"""The guard over the app's transactions."""

import importlib.util
import types
from collections.abc import Callable
from pathlib import Path

import jinja2
import pytest
from django.contrib.auth.hashers import make_password
from django.core.files.base import ContentFile
from django.core.files.storage import InMemoryStorage
from django.core.mail import EmailMessage
from django.db import connection, transaction

from tests.support import transactions
from tests.support.transactions import CALLS, STATEMENTS

pytestmark = pytest.mark.django_db


def act_in_transaction(act: Callable[[], object]) -> None:
    with transaction.atomic(), transaction.atomic():
        act()


as_the_app = {**globals(), "__name__": "chatapp.example"}
begin = types.FunctionType(act_in_transaction.__code__, as_the_app)


def query(times: int) -> None:
    with connection.cursor() as cursor:
        for _ in range(times):
            cursor.execute("SELECT 1")


@pytest.mark.parametrize(
    ("act", "fault"),
    [
        (lambda: jinja2.Template("So").render(), "renders"),
        (lambda: make_password("secret"), "hashes a password"),
        (lambda: InMemoryStorage().save("a", ContentFile(b"b")), "uses a file"),
        (lambda: open("/dev/null").close(), "uses a file"),  # noqa: PTH123
        (lambda: EmailMessage(to=["a@example.org"]).send(), "sends mail"),
        (lambda: query(STATEMENTS + 1), "statements"),
    ],
)
def test_a_transaction_that_keeps_others_waiting_is_a_fault(
    request: pytest.FixtureRequest, act: Callable[[], object], fault: str
) -> None:
    with (
        pytest.raises(pytest.fail.Exception, match=f"^example.act_in_transaction .*{fault}"),
        transactions.keep_transactions_short(request.node),
    ):
        begin(act)


def test_a_transaction_of_many_calls_is_a_fault(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions, "calls_count", True)
    with (
        pytest.raises(pytest.fail.Exception, match="calls in a transaction"),
        transactions.keep_transactions_short(request.node),
    ):
        begin(lambda: [len("") for _ in range(CALLS)])


def test_short_transactions_and_those_of_tests_are_not(request: pytest.FixtureRequest) -> None:
    with transactions.keep_transactions_short(request.node):
        begin(lambda: query(1))
        act_in_transaction(lambda: make_password("secret"))
        make_password("secret")


def test_an_import_from_a_folder_that_has_changed_is_not(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    with transactions.keep_transactions_short(request.node):
        begin(lambda: importlib.util.find_spec("no_such_module"))


def test_the_longest_transactions_are_listed_first(request: pytest.FixtureRequest) -> None:
    with transactions.keep_transactions_short(request.node):
        begin(lambda: query(3))
        begin(lambda: query(1))
    report = types.SimpleNamespace(user_properties=request.node.user_properties)
    heading, line = transactions.lines([report])  # type: ignore[list-item]
    assert heading.split() == ["calls", "statements", "runs", "transaction"]
    assert line.split()[1:] == ["5", "2", "example.act_in_transaction"]  # two are the savepoint's
