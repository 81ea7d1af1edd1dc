"""Limits that go with what they are of, when that is deleted under /admin/."""

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from chatapp.models import Allowance, AuditEvent, Limit, Upstream

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("is_one_of_many", [False, True], ids=["alone", "selected"])
@pytest.mark.parametrize("named", ["group", "upstream"])
def test_a_limit_that_goes_with_a_group_or_an_upstream_is_recorded_before_it(
    olives: Client, connected: Upstream, named: str, is_one_of_many: bool
) -> None:
    row = connected if named == "upstream" else Group.objects.create(name="Readers")
    other = Limit.objects.create(measure="tokens", cap=1)
    caps = (5, 7)
    there = [Limit.objects.create(measure="tokens", cap=cap, **{named: row}) for cap in caps]
    Allowance.objects.create(limit=there[0], held=3)
    page = "/admin/auth/group/" if named == "group" else "/admin/chatapp/upstream/"
    if is_one_of_many:
        chosen = {"action": "delete_selected", "_selected_action": row.pk, "post": "yes"}
        olives.post(page, chosen)
    else:
        olives.post(f"{page}{row.pk}/delete/", {"post": "yes"})
    assert Limit.objects.get() == other
    told = AuditEvent.objects.filter(action__endswith=".deleted").order_by("sequence")
    assert [(one.action, one.target) for one in told] == [
        *(("limit.deleted", str(limit.pk)) for limit in there),
        (f"{named}.deleted", str(row.pk)),
    ]
    before = told[0].detail.said["before"]
    assert before["cap"] == "5 tokens"
    assert before[named] == str(row)
