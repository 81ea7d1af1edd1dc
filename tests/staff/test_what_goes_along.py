"""Settings that are deleted with a group, an upstream or a tool server are logged."""

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from chatapp.models import (
    AccessRule,
    AuditEvent,
    BudgetAccount,
    Limit,
    Price,
    ToolServer,
    Upstream,
)

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("named", ["group", "upstream"])
def test_a_limit_deleted_with_a_group_or_an_upstream_is_logged_before_it(
    olives: Client, saved_upstream: Upstream, named: str
) -> None:
    row = saved_upstream if named == "upstream" else Group.objects.create(name="Readers")
    other = Limit.objects.create(measure="tokens", cap=1)
    limit = Limit.objects.create(measure="tokens", cap=5, **{named: row})
    BudgetAccount.objects.create(limit=limit, held=3)
    page = "/people/groups/" if named == "group" else "/settings/models/"
    olives.post(f"{page}{row.pk}/delete/")
    assert Limit.objects.get() == other
    logged = AuditEvent.objects.filter(action__endswith=".deleted").order_by("sequence")
    assert [(event.action, event.target) for event in logged] == [
        ("limit.deleted", str(limit.pk)),
        (f"{named}.deleted", str(row.pk)),
    ]
    before = logged[0].detail.values["before"]
    assert before["cap"] == "5 tokens"
    assert before[named] == str(row)


def test_the_log_has_the_access_rules_and_prices_of_a_deleted_upstream(
    olives: Client, saved_upstream: Upstream
) -> None:
    readers, other = Group.objects.create(name="Readers"), Upstream.objects.create(name="Other")
    AccessRule.objects.restrict_to([readers], upstream=saved_upstream, model="")
    AccessRule.objects.restrict_to([], upstream=saved_upstream, model="large")
    AccessRule.objects.restrict_to([readers], upstream=other, model="")
    for source, of in (
        ("administrator", saved_upstream),
        ("gateway", saved_upstream),
        ("administrator", other),
    ):
        Price.objects.create(upstream=of, model="large", source=source, input=10, output=20)
    olives.post(f"/settings/models/{saved_upstream.pk}/delete/")
    before = AuditEvent.objects.get(action="upstream.deleted").detail.values["before"]
    assert before["access"] == [
        {"model": "", "groups": ["Readers"]},
        {"model": "large", "groups": []},
    ]
    [price] = before["prices"]
    assert (price["model"], price["input"], price["output"]) == ("large", 10, 20)
    assert AccessRule.objects.get().upstream == other


def test_the_log_has_the_access_rules_of_a_deleted_tool_server(olives: Client) -> None:
    server = ToolServer.objects.create(name="Files", url="https://files.example/mcp")
    AccessRule.objects.restrict_to([Group.objects.create(name="Readers")], tool_server=server)
    olives.post(f"/settings/tools/{server.pk}/delete/")
    before = AuditEvent.objects.get(action="toolserver.deleted").detail.values["before"]
    assert before == {"access": [{"model": "", "groups": ["Readers"]}]}


def test_the_log_omits_what_was_not_set(olives: Client, saved_upstream: Upstream) -> None:
    olives.post(f"/settings/models/{saved_upstream.pk}/delete/")
    assert AuditEvent.objects.get(action="upstream.deleted").detail.values["before"] == {}
