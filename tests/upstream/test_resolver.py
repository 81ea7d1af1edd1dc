"""Looking up host names: one that hangs affects only its own upstream."""

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chatapp.upstream import resolver
from chatapp.upstream.client import Endpoint, UpstreamClient
from chatapp.upstream.resolver import Resolver
from tests.support.fake_upstream import FakeUpstream
from tests.support.live import ROOT

# Runs with a name server that never answers: eight names hang, but localhost is in /etc/hosts.
PROGRAM = """
import asyncio, sys, time
from chatapp.upstream.client import Endpoint, UpstreamClient
from chatapp.upstream.wire.errors.upstream_error import UpstreamFailed

async def ask(client, host, port):
    began_at = time.monotonic()
    try:
        models = await client.list_models(Endpoint(f"http://{host}:{port}/v1"))
        result = " ".join(model.id for model in models)
    except UpstreamFailed as failed:
        result = failed.error.message
    print(f"{host} {time.monotonic() - began_at:.2f} {result}", flush=True)

async def main(port):
    client = UpstreamClient()
    hanging = [asyncio.create_task(ask(client, f"gw{n}.example.", port)) for n in range(8)]
    await asyncio.sleep(0.2)
    await ask(client, "localhost", port)
    await asyncio.gather(*hanging)

loop = __import__("uvloop").new_event_loop() if sys.argv[2] == "uvloop" else None
with asyncio.Runner(loop_factory=loop and (lambda: loop)) as runner:
    runner.run(main(sys.argv[1]))
"""
NAME_SERVER = "127.0.0.77"


@pytest.fixture
def silent_name_server(tmp_path: Path) -> Iterator[list[str]]:
    """Run a name server that never answers; yield the command prefix to use only that server."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        pytest.skip("needs root and unshare, to give a program its own name server")
    (tmp_path / "resolv.conf").write_text(f"nameserver {NAME_SERVER}\n")
    own = f'mount --bind {tmp_path}/resolv.conf /etc/resolv.conf && exec "$@"'
    words = ["unshare", "--mount", "sh", "-c", own, "sh"]
    if subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
        pytest.skip("not allowed to mount here")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind((NAME_SERVER, 53))
        yield words


@pytest.mark.thorough
@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_hanging_names_do_not_delay_other_upstreams(
    silent_name_server: list[str], upstream: FakeUpstream, loop: str
) -> None:
    port = upstream.base_url.rpartition(":")[2].partition("/")[0]
    done = subprocess.run(
        [*silent_name_server, sys.executable, "-c", PROGRAM, port, loop],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    first, *others = done.stdout.splitlines()
    host, seconds, result = first.split(" ", 2)
    assert host == "localhost"
    assert float(seconds) < 1
    assert result
    assert "name server" not in result
    assert len(others) == 8
    for line in others:
        host, seconds, result = line.split(" ", 2)
        assert result == (
            f"the address of {host} was not found within 6 seconds, because its name server does "
            "not answer"
        )
        assert 5.5 < float(seconds) < 9


class Hanging:
    """A fake system resolver whose look-ups hang until the test releases them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: Counter[str] = Counter()
        self.go = threading.Event()
        self._known = socket.getaddrinfo
        monkeypatch.setattr(socket, "getaddrinfo", self._look_up)

    def _look_up(self, host: str, *args: Any, **options: Any) -> object:
        self.asked[host] += 1
        assert self.go.wait(20)
        return self._known("127.0.0.1", *args, **options)


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hanging]:
    monkeypatch.setattr(resolver, "LOOK_UP_SECONDS", 0.2)
    hanging = Hanging(monkeypatch)
    yield hanging
    hanging.go.set()


async def test_concurrent_look_ups_of_a_name_share_one(hanging: Hanging) -> None:
    names = Resolver()
    for _ in range(2):
        look_ups = [names.addresses("gw.example") for _ in range(20)]
        failed = await asyncio.gather(*look_ups, return_exceptions=True)
        assert {type(error) for error in failed} == {OSError}
    assert hanging.asked == {"gw.example": 1}
    waiting = asyncio.create_task(names.addresses("gw.example"))
    hanging.go.set()
    assert await waiting == ["127.0.0.1"]
    assert await names.addresses("gw.example") == ["127.0.0.1"]
    assert hanging.asked == {"gw.example": 2}


async def test_the_number_of_hanging_look_ups_is_limited(
    hanging: Hanging, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolver, "MAX_LOOKUPS", 3)
    names = Resolver()
    hosts = [f"gw{number}.example" for number in range(5)]
    failed = await asyncio.gather(*map(names.addresses, hosts), return_exceptions=True)
    assert sum("too many other look-ups hang" in str(error) for error in failed) == 2
    assert len(hanging.asked) == 3


async def test_an_address_and_an_idle_connection_need_no_look_up(
    upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up: list[str] = []
    getaddrinfo = socket.getaddrinfo

    def look_up(host: str, *args: Any, **options: Any) -> object:
        looked_up.append(host)
        return getaddrinfo(host, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    client = UpstreamClient()
    by_name = upstream.base_url.replace("127.0.0.1", "localhost")
    for _ in range(3):
        await client.list_models(Endpoint(by_name))
    assert looked_up == ["localhost"]
    await client.list_models(Endpoint(upstream.base_url))
    assert looked_up == ["localhost"]
    await client.aclose()


async def test_an_unknown_name_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def look_up(host: str, *args: Any, **options: Any) -> object:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    with pytest.raises(OSError, match="not known"):
        await Resolver().addresses("nobody.example")
