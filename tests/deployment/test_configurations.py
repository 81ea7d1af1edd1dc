"""The files of deploy/ alone: programs accept them, and proxies pass on what they should."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from django.conf import settings

from chatapp.api.large_bodies import max_bytes
from chatapp.server import adapter
from tests.deployment.proxies import DEPLOY, PROXIES, Caddy, Nginx, Proxy
from tests.deployment.stub import Stub
from tests.support.live import ROOT, free_port, run

KINDS = pytest.mark.parametrize("kind", PROXIES, ids=lambda kind: kind.name)
LIMIT = settings.CHATAPP_MAX_BODY_BYTES
ENVIRONMENT = (DEPLOY / "chatapp.env.example").read_text()


@contextmanager
def before(kind: type[Proxy], folder: Path, *ports: int) -> Iterator[httpx.Client]:
    """Open a client of such a proxy in front of servers on these ports."""
    with kind(folder, ports) as proxy, proxy.visit() as client:
        yield client


# The programs accept them


@KINDS
def test_the_program_accepts_its_configuration(kind: type[Proxy], tmp_path: Path) -> None:
    output = kind(tmp_path, [8001, 8002, 8003]).check_configuration()
    assert "successful" in output or "Valid configuration" in output
    assert "warn" not in output.replace("must be run as", "")


def test_caddy_accepts_the_options_that_compose_adds(tmp_path: Path) -> None:
    """All but `stream_close_delay`, which Debian's Caddy is too old for."""
    compose = (DEPLOY / "compose.yaml").read_text()
    [options] = re.findall(r"PROXY_OPTIONS: \|\n((?: {8}.*\n)+)", compose)
    assert "stream_close_delay" in options
    options = re.sub(r" *stream_close_delay.*\n", "", options)
    caddy = Caddy(tmp_path, [], PROXY_OPTIONS=options)
    assert "Valid configuration" in caddy.check_configuration()


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")
def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    for unit in (DEPLOY / "systemd").iterdir():
        text = unit.read_text().replace("/opt/chatapp/.venv/bin/python", sys.executable)
        (tmp_path / unit.name.replace("@.", "@8001.")).write_text(text)
    verified = subprocess.run(
        ["systemd-analyze", "verify", "--recursive-errors=no", *tmp_path.iterdir()],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (verified.returncode, verified.stderr) == (0, "")
    for unit in tmp_path.glob("*.service"):
        judged = subprocess.run(
            ["systemd-analyze", "security", "--offline=true", "--threshold=20", unit],
            capture_output=True,
            text=True,
            check=False,
        )
        assert judged.returncode == 0, judged.stdout


# Proxying


@KINDS
def test_forwarding_headers_of_clients_are_replaced(kind: type[Proxy], tmp_path: Path) -> None:
    lies = {"X-Forwarded-For": "6.6.6.6", "X-Forwarded-Proto": "http", "X-Request-ID": "mine"}
    lies |= dict.fromkeys(NOBODYS, "/evil")
    with Stub() as stub, before(kind, tmp_path, stub.port) as client:
        assert client.get("/c/?a=1", headers=lies).status_code == 200
        [request] = stub.requests
        assert request["x-forwarded-for"] == "127.0.0.1"
        assert request["x-forwarded-proto"] == "https"
        assert request["host"] == client.base_url.netloc.decode()
        assert request[":path"] == "/c/?a=1"
        assert re.fullmatch("[0-9a-f-]{32,36}", request["x-request-id"])
        assert {"/evil", "mine"}.isdisjoint(request.values())


NOBODYS = ("Daphne-Root-Path", "Forwarded", "X-Forwarded-Host", "X-Real-IP")


@KINDS
def test_a_body_up_to_the_apps_limit_is_passed_on_and_a_larger_one_is_not(
    kind: type[Proxy], tmp_path: Path
) -> None:
    with Stub() as stub, before(kind, tmp_path, stub.port) as client:
        assert client.post("/", content=b"x" * LIMIT).status_code == 200
        assert client.post("/", content=b"x" * (LIMIT + 1)).status_code in (413, 502)


@KINDS
def test_a_chat_completion_may_be_larger(kind: type[Proxy], tmp_path: Path) -> None:
    with Stub() as stub, before(kind, tmp_path, stub.port) as client:
        content = b"x" * (LIMIT + 1)
        assert client.post("/api/v1/chat/completions", content=content).status_code == 200


@pytest.mark.parametrize(("file", "unit"), [("nginx.conf", "148m;"), ("Caddyfile", "148MiB")])
def test_the_largest_chat_completion_is_passed_on(file: str, unit: str) -> None:
    assert unit in (DEPLOY / file).read_text()
    assert 147 * 1024**2 < max_bytes() <= 148 * 1024**2


@KINDS
def test_an_unreachable_server_is_skipped(kind: type[Proxy], tmp_path: Path) -> None:
    with Stub() as stub, before(kind, tmp_path, free_port(), stub.port, free_port()) as client:
        assert [client.get("/").status_code for _ in range(9)] == [200] * 9
        assert client.post("/", content=b"once").status_code == 200
        assert len(stub.requests) == 10


def test_nginx_retries_safe_requests_when_a_server_is_draining(tmp_path: Path) -> None:
    with (
        Stub(status=503) as draining,
        Stub() as other,
        before(Nginx, tmp_path, draining.port, other.port) as client,
    ):
        for _ in range(4):
            client.get("/")
        assert len(other.requests) == 4
        assert draining.requests  # it was asked first, then the other one


@KINDS
def test_a_post_is_never_retried(kind: type[Proxy], tmp_path: Path) -> None:
    with (
        Stub(status=503) as first,
        Stub(status=503) as other,
        before(kind, tmp_path, first.port, other.port) as client,
    ):
        assert client.post("/accounts/login/", content=b"x").status_code == 503
        assert len(first.requests + other.requests) == 1


def test_caddy_skips_a_server_that_is_not_ready(tmp_path: Path) -> None:
    with Stub(ready=503) as draining, Stub() as other:
        caddy = Caddy(tmp_path, [draining.port, other.port])
        with caddy, caddy.visit() as client:
            # it logs this before skipping the server
            caddy.wait_for(r"(?s)(status_code\":503.*){2}")
            draining.requests.clear()
            for _ in range(10):
                assert client.get("/").status_code == 200
            assert draining.requests == []
            assert len(other.requests) >= 10


def test_nginx_finds_static_files_that_only_one_server_has(tmp_path: Path) -> None:
    with (
        Stub(status=404) as older,
        Stub() as newer,
        before(Nginx, tmp_path, older.port, newer.port) as client,
    ):
        assert [client.get("/static/a.1.css").status_code for _ in range(4)] == [200] * 4
        assert {client.get("/c/").status_code for _ in range(4)} == {200, 404}


# Numbers that must agree


def test_the_proxy_timeout_exceeds_the_apps_ping_interval_and_timeout() -> None:
    interval, patience = adapter.PING_SECONDS, adapter.PONG_SECONDS
    location = (DEPLOY / "nginx.conf").read_text().partition("location /ws/ {")[2].partition("}")[0]
    for name in ("proxy_read_timeout", "proxy_send_timeout"):
        assert int(setting(location, name, r"(\d+)s;")) > interval + patience


def test_the_stop_timeout_exceeds_the_drain_time() -> None:
    drain = int(setting(ENVIRONMENT, "CHATAPP_DRAIN_SECONDS=", r"(\d+)"))
    unit = (DEPLOY / "systemd/chatapp@.service").read_text()
    assert int(setting(unit, "TimeoutStopSec=", r"(\d+)")) > drain + 10
    compose = (DEPLOY / "compose.yaml").read_text()
    web = compose.partition("  web:")[2].partition("  caddy:")[0]
    assert int(setting(web, "stop_grace_period:", r"(\d+)s")) > drain + 10


def test_pg_dump_is_as_new_as_the_database() -> None:
    image = setting((DEPLOY / "compose.yaml").read_text(), "image: postgres:", r"(\d+)")
    client = setting((DEPLOY / "Dockerfile").read_text(), "postgresql-client-", r"(\d+)")
    assert client == image


def setting(text: str, name: str, value: str) -> str:
    match = re.search(rf"{re.escape(name)}\s*{value}", text)
    assert match, f"no {name}"
    return match[1]


def test_the_environment_file_means_the_same_to_systemd_and_compose() -> None:
    for line in ENVIRONMENT.splitlines():
        assert re.fullmatch(r"|#.*|[A-Z_]+=[^\s\"'$#\\]*", line), line


# The probe of the image and the units


@pytest.mark.parametrize(("ready", "status"), [(200, 0), (503, 1)])
def test_the_probe_reports_whether_the_app_is_ready(ready: int, status: int) -> None:
    with Stub(ready=ready) as stub:
        assert probe(stub.port).returncode == status


def test_the_probe_fails_if_nothing_listens() -> None:
    assert probe(free_port()).returncode == 1


def probe(port: int) -> "subprocess.CompletedProcess[str]":
    environment = {"PORT": str(port), "HOST": "0.0.0.0"}  # noqa: S104 - as the image sets it
    return run(environment, str(ROOT / "deploy/probe.py"), "/readyz", check=False)
