"""Access to the API: tokens, scopes, the administrator's decision, and wrong tokens."""

from datetime import timedelta
from typing import Any

import httpx
import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group
from django.utils import timezone
from openai import AsyncOpenAI, NotFoundError

from chatapp.api import authentication
from chatapp.concurrency.token_bucket import TokenBucket, TokenBuckets
from chatapp.models import AccessRule, AccessToken, Installation, Limit, Upstream, User
from chatapp.sessions.rate_limits import allowances
from tests.api.conftest import MODEL
from tests.support.fake_upstream import FakeUpstream

pytestmark = pytest.mark.django_db(transaction=True)

MODELS, CHAT = "/api/v1/models", "/api/v1/chat/completions"
HELLO: Any = {"model": MODEL, "messages": [{"role": "user", "content": "Hello"}]}


def bearing(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


async def get_status(http: httpx.AsyncClient, secret: str) -> tuple[int, str]:
    response = await http.post(CHAT, json=HELLO, headers=bearing(secret))
    return response.status_code, response.json().get("error", {}).get("code", "")


async def test_models_are_listed_as_openai_does(
    script: AsyncOpenAI, api_upstream: Upstream
) -> None:
    listed = await script.models.list()
    assert [(entry.id, entry.owned_by) for entry in listed.data] == [(MODEL, api_upstream.name)]


async def test_a_model_of_several_providers_is_named_with_its_provider(
    script: AsyncOpenAI, api_upstream: Upstream, http: httpx.AsyncClient, secret: str
) -> None:
    await Upstream.objects.acreate(
        name="Other", base_url=api_upstream.base_url, offered_models=f"{MODEL}\nfree/two"
    )
    listed = await script.models.list()
    names = {entry.id for entry in listed.data}
    assert names == {f"{api_upstream.name}/{MODEL}", f"Other/{MODEL}", "free/two"}
    response = await http.post(CHAT, json=HELLO, headers=bearing(secret))
    assert response.status_code == 400
    assert f"Other/{MODEL}" in response.json()["error"]["message"]
    for name in names:
        response = await http.post(CHAT, json=HELLO | {"model": name}, headers=bearing(secret))
        assert response.status_code == 200


async def test_a_model_is_described_by_either_of_its_names(
    script: AsyncOpenAI, api_upstream: Upstream
) -> None:
    for name in (MODEL, f"{api_upstream.name}/{MODEL}"):
        model = await script.models.retrieve(name)
        assert (model.id, model.owned_by) == (name, api_upstream.name)
    with pytest.raises(NotFoundError, match="no/such model"):
        await script.models.retrieve("no/such model")


async def test_models_that_are_not_open_to_the_person_do_not_exist(
    script: AsyncOpenAI, api_upstream: Upstream, http: httpx.AsyncClient, secret: str, alice: User
) -> None:
    rule = await AccessRule.objects.acreate(upstream=api_upstream, model=MODEL)
    group = await Group.objects.acreate(name="team")
    await rule.groups.aadd(group)
    assert not (await script.models.list()).data
    assert await get_status(http, secret) == (404, "model_not_found")
    await alice.groups.aadd(group)
    assert (await get_status(http, secret))[0] == 200


@pytest.mark.parametrize(
    "headers",
    [{}, {"Authorization": "Basic YTpi"}, {"Authorization": "Bearer"}, bearing("chatapp_no")],
)
async def test_without_a_right_token_nothing_is_told(
    http: httpx.AsyncClient, api_upstream: Upstream, headers: dict[str, str]
) -> None:
    response = await http.get(MODELS, headers=headers)
    assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer")
    assert set(response.json()["error"]) == {"message", "type", "param", "code"}
    assert "set-cookie" not in response.headers
    assert "access-control-allow-origin" not in response.headers


@pytest.mark.parametrize("name", ["api_key", "token", "x"])
async def test_a_token_in_the_address_is_refused(
    http: httpx.AsyncClient, api_upstream: Upstream, secret: str, name: str
) -> None:
    response = await http.get(MODELS, params={name: secret}, headers=bearing(secret))
    assert response.status_code == 400
    assert "logs" in response.json()["error"]["message"]


async def test_cookies_authenticate_nobody(
    http: httpx.AsyncClient, api_upstream: Upstream, alices: Any
) -> None:
    cookies = {name: morsel.value for name, morsel in alices.cookies.items()}
    http.cookies.update(cookies)
    response = await http.get(MODELS)
    assert response.status_code == 401


async def test_the_api_is_off_until_an_administrator_allows_it(
    http: httpx.AsyncClient, api_upstream: Upstream, secret: str, alice: User
) -> None:
    await Installation.objects.all().adelete()
    assert await get_status(http, secret) == (403, "api_not_allowed")
    installation = Installation(pk=1, who_uses_api="groups")
    await installation.asave()
    group = await Group.objects.acreate(name="team")
    await installation.api_groups.aadd(group)
    assert await get_status(http, secret) == (403, "api_not_allowed")
    await alice.groups.aadd(group)
    assert (await get_status(http, secret))[0] == 200


async def test_a_token_has_only_its_scopes(
    http: httpx.AsyncClient, api_upstream: Upstream, alice: User
) -> None:
    _, lists = await sync_to_async(AccessToken.issue)(alice, "lists", ["models"], None)
    assert await get_status(http, lists) == (403, "insufficient_scope")
    assert (await http.get(MODELS, headers=bearing(lists))).status_code == 200


@pytest.mark.parametrize("change", ["revoked", "expired", "deactivated"])
async def test_a_token_ends_at_once(
    http: httpx.AsyncClient, api_upstream: Upstream, secret: str, alice: User, change: str
) -> None:
    assert (await get_status(http, secret))[0] == 200
    if change == "revoked":
        await AccessToken.objects.all().adelete()
    elif change == "expired":
        await AccessToken.objects.aupdate(expires_at=timezone.now() - timedelta(seconds=1))
    else:
        await User.objects.aupdate(is_active=False)
    assert await get_status(http, secret) == (401, "invalid_api_key")


async def test_many_wrong_tokens_do_not_stop_a_right_one(
    http: httpx.AsyncClient, api_upstream: Upstream, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = TokenBuckets(lambda: TokenBucket(0, 3))
    monkeypatch.setattr(authentication, "wrong_tokens", few)
    statuses = [
        (await http.get(MODELS, headers=bearing(f"chatapp_{number}"))).status_code
        for number in range(5)
    ]
    assert statuses == [401, 401, 401, 429, 429]
    refused = await http.get(MODELS, headers=bearing("chatapp_"))
    assert int(refused.headers["retry-after"]) > 0
    assert (await http.get(MODELS, headers=bearing(secret))).status_code == 200


async def test_a_person_has_one_rate_for_pages_and_scripts(
    http: httpx.AsyncClient, api_upstream: Upstream, secret: str, alice: User
) -> None:
    allowances[alice.pk].take(10**6)
    response = await http.get(MODELS, headers=bearing(secret))
    assert response.status_code == 429
    assert int(response.headers["retry-after"]) > 0


@pytest.mark.usefixtures("one_minute")
async def test_limits_hold_and_say_when_they_reset(
    http: httpx.AsyncClient, api_upstream: Upstream, secret: str, upstream: FakeUpstream
) -> None:
    await Limit.objects.acreate(measure="a_minute", cap=1)
    assert (await get_status(http, secret))[0] == 200
    response = await http.post(CHAT, json=HELLO, headers=bearing(secret))
    assert response.status_code == 429
    assert 0 < int(response.headers["retry-after"]) <= 60
    assert response.json()["error"]["code"] == "rate_limit_exceeded"
    assert len(upstream.chat_requests) == 1


async def test_other_addresses_and_methods_are_refused_as_json(http: httpx.AsyncClient) -> None:
    response = await http.get("/api/v1/embeddings")
    assert (response.status_code, response.json()["error"]["code"]) == (404, "not_found")
    response = await http.options(CHAT)
    assert (response.status_code, response.headers["allow"]) == (405, "POST")
