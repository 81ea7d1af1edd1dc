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


@pytest.mark.parametrize("is_one_of_many", [False, True], ids=["alone", "selected"])
@pytest.mark.parametrize("named", ["group", "upstream"])
def test_limits_deleted_with_a_group_or_an_upstream_are_logged_before_it(
    olives: Client, saved_upstream: Upstream, named: str, is_one_of_many: bool
) -> None:
    row = saved_upstream if named == "upstream" else Group.objects.create(name="Readers")
    other = Limit.objects.create(measure="tokens", cap=1)
    caps = (5, 7)
    limits = [Limit.objects.create(measure="tokens", cap=cap, **{named: row}) for cap in caps]
    BudgetAccount.objects.create(limit=limits[0], held=3)
    page = "/admin/auth/group/" if named == "group" else "/admin/chatapp/upstream/"
    if is_one_of_many:
        chosen = {"action": "delete_selected", "_selected_action": row.pk, "post": "yes"}
        olives.post(page, chosen)
    else:
        olives.post(f"{page}{row.pk}/delete/", {"post": "yes"})
    assert Limit.objects.get() == other
    logged = AuditEvent.objects.filter(action__endswith=".deleted").order_by("sequence")
    assert [(event.action, event.target) for event in logged] == [
        *(("limit.deleted", str(limit.pk)) for limit in limits),
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
    olives.post(f"/admin/chatapp/upstream/{saved_upstream.pk}/delete/", {"post": "yes"})
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
    olives.post(f"/admin/chatapp/toolserver/{server.pk}/delete/", {"post": "yes"})
    before = AuditEvent.objects.get(action="toolserver.deleted").detail.values["before"]
    assert before == {"access": [{"model": "", "groups": ["Readers"]}]}


def test_the_log_omits_what_was_not_set(olives: Client, saved_upstream: Upstream) -> None:
    olives.post(f"/admin/chatapp/upstream/{saved_upstream.pk}/delete/", {"post": "yes"})
    assert "before" not in AuditEvent.objects.get(action="upstream.deleted").detail.values
