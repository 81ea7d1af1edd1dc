"""The probe answers only clients with a token of this installation."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from channels.testing import WebsocketCommunicator
from django.core.signing import TimestampSigner
from django.test import Client

from chatapp.asgi import application
from chatapp.doctor import probe
from tests.support.tab import WAIT_SECONDS


def make_expired_token() -> str:
    signer = TimestampSigner(salt="chatapp.doctor.probe")
    signer.timestamp = lambda: "1aaaaa"  # type: ignore[method-assign]
    return signer.sign("doctor")


def make_foreign_token() -> str:
    return TimestampSigner(salt="another").sign("doctor")


@pytest.mark.parametrize("token", [str, lambda: "x", make_expired_token, make_foreign_token])
@pytest.mark.parametrize("page", ["seen", "trickle", "body"])
def test_strangers_get_a_404(token: Callable[[], str], page: str, db: None) -> None:
    client = Client(headers={"host": "localhost", probe.TOKEN_HEADER: token()})
    send = client.post if page == "body" else client.get
    assert send(f"/probe/{page}").status_code == 404


def test_the_doctor_gets_what_the_app_sees(db: None) -> None:
    client = Client(headers={"host": "localhost", probe.TOKEN_HEADER: probe.token()})
    answer = client.get("/probe/seen", headers={"X-Forwarded-Proto": "https"})
    assert answer.json() == {
        "scheme": "http",
        "host": "localhost",
        "client": "127.0.0.1",
        "forwarded_for": "",
        "forwarded_proto": "https",
    }
    assert "no-store" in answer.headers["Cache-Control"]
    response = client.post("/probe/body", "x" * 5000, content_type="text/plain")
    assert response.json() == {"bytes": 5000}


def socket(token: str, origin: str = "http://localhost") -> WebsocketCommunicator:
    headers = {"host": "localhost", "origin": origin, probe.TOKEN_HEADER.lower(): token}
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    return WebsocketCommunicator(application, "/ws/probe/", raw)


@pytest.mark.parametrize("token", [str, make_expired_token, make_foreign_token])
async def test_strangers_get_no_websocket(token: Callable[[], str], db: None) -> None:
    is_open, _ = await socket(token()).connect(timeout=WAIT_SECONDS)
    assert not is_open


@pytest.mark.parametrize(
    ("origin", "is_own"), [("http://localhost", True), ("https://evil.example", False)]
)
async def test_the_doctors_websocket_reports_trickles_and_counts(
    origin: str, is_own: bool, db: None
) -> None:
    tab = socket(probe.token(), origin)
    assert (await tab.connect(timeout=WAIT_SECONDS))[0]
    seen: dict[str, Any] = await tab.receive_json_from(timeout=WAIT_SECONDS)
    assert seen == {"is_own_origin": is_own, "host": "localhost"}
    await tab.send_to(text_data="x" * 5000)
    assert await tab.receive_from(timeout=WAIT_SECONDS) == "5000"
    await tab.send_to(text_data=probe.TRICKLE)
    times = [float(await tab.receive_from(timeout=WAIT_SECONDS)) for _ in range(probe.PIECES)]
    pauses = [after - before for before, after in pairwise(times)]
    assert len(times) == 10
    assert all(pause > 0 for pause in pauses)
    await tab.disconnect()
