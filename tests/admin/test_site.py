"""Who gets in at all."""

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db(transaction=True)
LIST = "/admin/chatapp/conversation/"
UPSTREAMS = "/admin/chatapp/upstream/"


@pytest.mark.parametrize("path", ["/admin/", LIST, UPSTREAMS])
def test_who_is_no_staff_is_refused(alices: Client, path: str) -> None:
    answer = alices.get(path)
    assert answer.status_code == 302
    assert "login" in answer.headers["location"]
