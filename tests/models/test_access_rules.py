"""Who may use what: everything is everybody's until it is given to groups."""

from contextlib import nullcontext
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group
from django.db import IntegrityError, transaction

from chatapp.models import (
    AccessRule,
    ModelChoice,
    Prompt,
    Refused,
    Retry,
    ToolServer,
    Upstream,
    User,
    permitted,
)
from tests.support.stored import end, reply_of

pytestmark = pytest.mark.django_db

HERE = uuid4()


@pytest.fixture
def writers(carol: User) -> Group:
    """Of whom Carol is one."""
    group = Group.objects.create(name="Writers")
    group.user_set.add(carol)
    return group


@pytest.fixture
def dave(db: None) -> User:
    return User.objects.create_user("dave")


def may(person: User, upstream: Upstream, model: str) -> bool:
    """As a page and as a statement say it, which is the same."""
    said = permitted(person.pk).may_ask(upstream.pk, model)
    choice = ModelChoice(upstream.pk, model)
    with nullcontext() if said else pytest.raises(Refused, match="not open to you"):
        Upstream.offering(choice, person.pk)
    return said


def test_what_was_given_to_nobody_is_everybody_s(carol: User, gateway: Upstream) -> None:
    assert may(carol, gateway, "one")
    assert not permitted(carol.pk).has_rules


def test_an_upstream_is_for_those_to_whom_it_was_given(
    carol: User, dave: User, writers: Group, gateway: Upstream
) -> None:
    other = Upstream.objects.create(name="Other", base_url="http://127.0.0.1:9/v1")
    AccessRule.objects.give([writers], upstream=gateway, model="")
    assert [may(one, gateway, "one") for one in (carol, dave)] == [True, False]
    assert may(dave, other, "one")
    AccessRule.objects.give(None, upstream=gateway, model="")
    assert may(dave, gateway, "one")


def test_a_model_s_own_rule_counts_before_its_upstream_s(
    carol: User, dave: User, writers: Group, gateway: Upstream
) -> None:
    readers = Group.objects.create(name="Readers")
    readers.user_set.add(dave)
    AccessRule.objects.give([writers], upstream=gateway, model="")
    AccessRule.objects.give([readers], upstream=gateway, model="small")
    AccessRule.objects.give([readers, writers], upstream=gateway, model="both")
    found = {
        model: [may(one, gateway, model) for one in (carol, dave)]
        for model in ("large", "small", "both", "SMALL")
    }
    assert found == {
        "large": [True, False],
        "small": [False, True],
        "both": [True, True],
        "SMALL": [True, False],
    }


def test_a_group_s_end_opens_nothing(carol: User, writers: Group, gateway: Upstream) -> None:
    AccessRule.objects.give([writers], upstream=gateway, model="")
    writers.delete()
    assert not may(carol, gateway, "one")


def test_who_is_taken_from_the_group_asks_no_more(
    carol: User, writers: Group, gateway: Upstream
) -> None:
    """In a conversation that was begun with it, too; another model goes on with that."""
    AccessRule.objects.give([writers], upstream=gateway, model="large")
    asked = Prompt("Why?", ModelChoice(gateway.pk, "large"), id=uuid4())
    turn = asked.store(carol, HERE)
    end(turn.reply, reply_of("So."))
    writers.user_set.remove(carol)
    again = Retry(turn.reply.pk, ModelChoice(gateway.pk, "large"))
    beside = Prompt(
        "And?",
        ModelChoice(gateway.pk, "small"),
        turn.conversation.pk,
        turn.reply.pk,
        others=[ModelChoice(gateway.pk, "large")],
    )
    for refused in (again, beside):
        with pytest.raises(Refused, match="not open to you"):
            refused.store(carol, HERE)
    assert turn.conversation.messages.count() == 2
    Retry(turn.reply.pk, ModelChoice(gateway.pk, "small")).store(carol, HERE)


def test_tools_are_for_those_to_whom_their_server_was_given(
    carol: User, dave: User, writers: Group
) -> None:
    wiki, files = (
        ToolServer.objects.create(name=name, url="http://127.0.0.1:9/")
        for name in ("wiki", "files")
    )
    AccessRule.objects.give([writers], tool_server=wiki)
    for person, opens in ((carol, [True, True]), (dave, [True, False])):
        found = ToolServer.all_enabled(person.pk)
        assert found == [files, wiki]  # all of them: a process is connected for everybody
        assert [one.is_open for one in found] == opens


def test_a_rule_is_of_one_thing_and_a_thing_has_one(gateway: Upstream) -> None:
    AccessRule.objects.create(upstream=gateway, model="one")
    server = ToolServer.objects.create(name="wiki", url="http://127.0.0.1:9/")
    wrong: tuple[dict[str, Any], ...] = (
        {"upstream": gateway, "model": "one"},
        {},
        {"upstream": gateway, "tool_server": server},
    )
    for fields in wrong:
        with pytest.raises(IntegrityError), transaction.atomic():
            AccessRule.objects.create(**fields)
