"""Prompts in several processes at once never use the same budget twice."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest
from django.db import connection, transaction

from chatapp.models import BudgetAccount, ModelChoice, Turn, Upstream, User
from chatapp.models.billing.reservations import OUTPUT
from tests.support.allowed import TEXT, WHOLE, ask, finish, limit
from tests.support.live import Site, child_environment
from tests.support.shell import Shell
from tests.support.stored import MODEL, wait_until_somebody_waits

ONE_CONNECTION_PER_THREAD = """
from django.conf import settings
settings.DATABASES["default"].get("OPTIONS", {}).pop("pool", None)
"""
SET_UP = """
from chatapp.models import BudgetAccount, Limit, Upstream, User
for model in (BudgetAccount, Limit, User, Upstream):
    model.objects.all().delete()
Upstream.objects.create(name="Gateway", base_url="http://gw/v1")
User.objects.create_user("carol")
Limit.objects.create(cap={cap}, measure="tokens", period="month")
"""
ASK = """
import json
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from uuid import UUID
from django.db import connection
from chatapp.models import ModelChoice, Prompt, Refused, Upstream, User
carol, gateway = User.objects.get(username="carol"), Upstream.objects.get(name="Gateway")
together = Barrier(25)

def ask(_):
    connection.ensure_connection()
    together.wait()
    try:
        turn = Prompt({text!r}, ModelChoice(gateway.pk, "m")).store(carol, UUID(int=1))
        return turn.reservation.output
    except Refused:
        return 0
    finally:
        connection.close()

with ThreadPoolExecutor(25) as pool:
    print(json.dumps(list(pool.map(ask, range(25)))))
"""
ACCOUNT = """
from chatapp.models import BudgetAccount
print([[one.spent, one.held] for one in BudgetAccount.objects.all()])
"""


@pytest.fixture(scope="module")
def shells(site: Site) -> Iterator[list[Shell]]:
    """Two processes that share a database."""
    environment = child_environment(site.copy())
    with closing(Shell(environment)) as first, closing(Shell(environment)) as second:
        for shell in (first, second):
            shell.run(ONE_CONNECTION_PER_THREAD)
        yield [first, second]


def run_in_both(shells: list[Shell], script: str) -> list[Any]:
    """Run a script in two processes at once; return what each printed, as JSON."""
    with ThreadPoolExecutor(2) as pool:
        return [json.loads(printed) for printed in pool.map(lambda it: it.run(script), shells)]


def test_of_fifty_prompts_in_two_processes_a_budget_for_ten_admits_ten(
    shells: list[Shell],
) -> None:
    shells[0].run(SET_UP.format(cap=10 * WHOLE))
    outputs = run_in_both(shells, ASK.format(text=TEXT))
    held_outputs = [held_output for output in outputs for held_output in output if held_output]
    assert held_outputs == [OUTPUT] * 10
    assert json.loads(shells[0].run(ACCOUNT)) == [[0, 10 * WHOLE]]


FALL_BACK = """
import json
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from uuid import UUID
from django.db import connection
from chatapp.models import ModelChoice, Prompt, Refused, Upstream, Usage, User
from chatapp.models.conversations.messages.failed_models import FailedModel
from chatapp.models.conversations.turns.takeovers import plan_takeover, take_over
carol, gateway = User.objects.get(username="carol"), Upstream.objects.get(name="Gateway")
together = Barrier(10)

def fall_back(number):
    connection.ensure_connection()
    asked, other = ("m", "n") if number % 2 else ("n", "m")
    turn = Prompt({text!r}, ModelChoice(gateway.pk, asked)).store(carol, UUID(int=1))
    failed = FailedModel(gateway.pk, asked, asked, "unreachable")
    together.wait(timeout=20)
    try:
        moved = take_over(
            turn, plan_takeover(turn, ModelChoice(gateway.pk, other)), failed, Usage.empty()
        )
        return moved.reply.model == other
    finally:
        connection.close()

with ThreadPoolExecutor(10) as pool:
    print(json.dumps(list(pool.map(fall_back, range(10)))))
"""
OF_EACH = """
from chatapp.models import Limit, Upstream
gateway = Upstream.objects.get()
for model in ("m", "n"):
    Limit.objects.create(
        cap=10**9, measure="tokens", period="month", upstream=gateway, model=model
    )
"""


def test_replies_that_fall_back_in_both_directions_at_once_keep_each_budget_exact(
    shells: list[Shell],
) -> None:
    shells[0].run(SET_UP.format(cap=10**9) + OF_EACH)
    assert run_in_both(shells, FALL_BACK.format(text=TEXT)) == [[True] * 10] * 2
    assert sorted(json.loads(shells[0].run(ACCOUNT))) == [
        [0, 10 * WHOLE],
        [0, 10 * WHOLE],
        [0, 20 * WHOLE],
    ]


@pytest.mark.django_db(transaction=True)
def test_a_prompt_that_waits_for_a_new_account_has_locked_no_other(
    carol: User, gateway: Upstream
) -> None:
    model = ModelChoice(gateway.pk, MODEL)

    def ask_elsewhere() -> Turn:
        try:
            return ask(carol, model)
        finally:
            connection.close()

    limit(10**9)
    finish(ask(carol, model))
    account = BudgetAccount.objects.get()
    new = limit(10**9)
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            BudgetAccount.create_missing([new], carol.pk)
            asking = pool.submit(ask_elsewhere)
            wait_until_somebody_waits()
            assert BudgetAccount.lock_existing([account.pk]) == [account]
        turn = asking.result()
    assert turn.reservation
    assert len(turn.reservation.holds) == 2
