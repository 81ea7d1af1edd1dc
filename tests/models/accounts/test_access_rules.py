"""Access rules: without one everybody has access, with one only the members of its groups."""

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
    load_model_access,
)
from tests.support.stored import build_reply, end

pytestmark = pytest.mark.django_db

HERE = uuid4()


@pytest.fixture
def writers(carol: User) -> Group:
    """A group that Carol is a member of."""
    group = Group.objects.create(name="Writers")
    group.user_set.add(carol)
    return group


@pytest.fixture
def dave(db: None) -> User:
    return User.objects.create_user("dave")


def may(person: User, upstream: Upstream, model: str) -> bool:
    """Return whether pages offer the model; assert that the statement that checks a prompt
    agrees."""
    is_permitted = load_model_access(person.pk).may_ask(upstream.pk, model)
    choice = ModelChoice(upstream.pk, model)
    with nullcontext() if is_permitted else pytest.raises(Refused, match="don't have access"):
        Upstream.get_for_choice(choice, person.pk)
    return is_permitted


def test_everybody_may_use_an_upstream_without_a_rule(carol: User, gateway: Upstream) -> None:
    assert may(carol, gateway, "one")
    assert not load_model_access(carol.pk).has_rules


def test_only_members_of_its_groups_may_use_a_restricted_upstream(
    carol: User, dave: User, writers: Group, gateway: Upstream
) -> None:
    other = Upstream.objects.create(name="Other", base_url="http://127.0.0.1:9/v1")
    AccessRule.objects.restrict_to([writers], upstream=gateway, model="")
    assert [may(person, gateway, "one") for person in (carol, dave)] == [True, False]
    assert may(dave, other, "one")
    AccessRule.objects.restrict_to(None, upstream=gateway, model="")
    assert may(dave, gateway, "one")


def test_the_rule_of_a_model_takes_precedence_over_that_of_its_upstream(
    carol: User, dave: User, writers: Group, gateway: Upstream
) -> None:
    readers = Group.objects.create(name="Readers")
    readers.user_set.add(dave)
    AccessRule.objects.restrict_to([writers], upstream=gateway, model="")
    AccessRule.objects.restrict_to([readers], upstream=gateway, model="small")
    AccessRule.objects.restrict_to([readers, writers], upstream=gateway, model="both")
    access = {
        model: [may(person, gateway, model) for person in (carol, dave)]
        for model in ("large", "small", "both", "SMALL")
    }
    assert access == {
        "large": [True, False],
        "small": [False, True],
        "both": [True, True],
        "SMALL": [True, False],
    }


def test_deleting_a_group_gives_nobody_access(
    carol: User, writers: Group, gateway: Upstream
) -> None:
    AccessRule.objects.restrict_to([writers], upstream=gateway, model="")
    writers.delete()
    assert not may(carol, gateway, "one")


def test_a_person_removed_from_the_group_loses_access(
    carol: User, writers: Group, gateway: Upstream
) -> None:
    """Also in a conversation begun with that model, which can be continued with another one."""
    AccessRule.objects.restrict_to([writers], upstream=gateway, model="large")
    prompt = Prompt("Why?", ModelChoice(gateway.pk, "large"), id=uuid4())
    turn = prompt.store(carol, HERE)
    end(turn.reply, build_reply("So."))
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
        with pytest.raises(Refused, match="don't have access"):
            refused.store(carol, HERE)
    assert turn.conversation.messages.count() == 2
    Retry(turn.reply.pk, ModelChoice(gateway.pk, "small")).store(carol, HERE)


def test_only_members_of_its_groups_may_use_a_restricted_tool_server(
    carol: User, dave: User, writers: Group
) -> None:
    wiki, files = (
        ToolServer.objects.create(name=name, url="http://127.0.0.1:9/")
        for name in ("wiki", "files")
    )
    AccessRule.objects.restrict_to([writers], tool_server=wiki)
    for person, opens in ((carol, [True, True]), (dave, [True, False])):
        servers = ToolServer.all_enabled(person.pk)
        assert servers == [files, wiki]  # all, since a process connects to them for everybody
        assert [server.is_open for server in servers] == opens


def test_a_rule_applies_to_one_thing_and_a_thing_has_one_rule(gateway: Upstream) -> None:
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
