"""Changes after which scripts' requests are checked again, in all processes."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.contrib.auth.models import Group

from chatapp.models import AccessRule, AccessToken, Installation, Upstream, User

pytestmark = pytest.mark.django_db


def test_each_loss_of_a_right_is_noticed(
    alice: User,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Callable[..., AbstractContextManager[Any]],
) -> None:
    token, _ = AccessToken.issue(alice, "laptop", ["chat"], None)
    group = Group.objects.create(name="team")
    installation = Installation.objects.create(pk=1)
    upstream = Upstream.objects.create(name="Fake", base_url="http://127.0.0.1:9/v1")
    rule = AccessRule.objects.create(upstream=upstream)
    changes: dict[str, tuple[Callable[[], object], list[int] | None]] = {
        "a token": (token.delete, [alice.pk]),
        "her groups": (lambda: alice.groups.add(group), [alice.pk]),
        "a group's people": (lambda: group.user_set.remove(alice), [alice.pk]),
        "the groups of a model": (lambda: rule.groups.add(group), None),
        "the groups of the API": (lambda: installation.api_groups.add(group), None),
        "the settings": (installation.save, None),
        "a provider": (upstream.save, None),
        "a rule": (rule.delete, None),
        "a group": (group.delete, None),
    }
    for what, (change, people) in changes.items():
        checked: list[object] = []
        monkeypatch.setattr("chatapp.realtime.worker.recheck_access", checked.append)
        with django_capture_on_commit_callbacks(execute=True):
            change()
        assert people in checked, what
