"""A reader of a large file who reads slowly, or never, costs the server next to no memory."""

import re
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import pytest

from tests.security.hasty import SECONDS
from tests.security.test_bodies import Hasty
from tests.support.live import Person, Server, Site
from tests.support.program import WAIT_SECONDS

MEGABYTES = 40
STORE = """
import tempfile
from io import BytesIO
from chatapp.models import Attachment, FileContent, StoredFile, User
alice = User.objects.get(username="{name}")
with tempfile.TemporaryFile() as file:
    for number in range({megabytes}):
        file.write(bytes([number]) * 2**20)
    stored = StoredFile.store_file(file, alice.pk)
FileContent.objects.get_or_create(file=stored, defaults={{"kind": "document", "label": "Text"}})
described = {{"name": "big", "size": stored.size, "state": "ready"}}
attachment = Attachment.objects.create(user=alice, file=stored, **described)
print(attachment.pk)
"""


@pytest.fixture(scope="module")
def server(site: Site) -> Iterator[Server]:
    with site.server() as server:
        yield server


@pytest.fixture(scope="module")
def alice(site: Site) -> Person:
    return site.person()


@pytest.fixture(scope="module")
def hasty(site: Site) -> Iterator[Server]:
    """A server whose timeouts are all half a second."""
    with Hasty(site.copy()) as server:
        yield server


@pytest.fixture(scope="module")
def big(server: Server, alice: Person) -> str:
    """The path of a file of 40 MB, much more than connections buffer."""
    return store_big_file(server, alice)


def store_big_file(server: Server, person: Person) -> str:
    pk = server.run(STORE.format(megabytes=MEGABYTES, name=person.username)).strip()
    return f"/files/{pk}/"


def measure_memory(server: Server) -> float:
    """Return the resident memory of the process in MiB."""
    match = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{server.pid}/status").read_text())
    assert match
    return int(match[1]) / 1024


def test_a_reader_who_never_reads_does_not_fill_the_memory(
    server: Server, alice: Person, big: str
) -> None:
    with server.visit(alice) as client:
        client.head(big).raise_for_status()
        before = measure_memory(server)
        idle = [request(server, alice, big) for _ in range(5)]
        for _ in range(50):  # the server has time to read all of the files
            client.head(big).raise_for_status()
        assert measure_memory(server) - before < 20
        for connection in idle:
            connection.close()


def request(server: Server, person: Person, path: str) -> socket.socket:
    """Request a file, and read nothing but the first byte of the response."""
    host, port = server.url.removeprefix("http://").split(":")
    raw = socket.create_connection((host, int(port)))
    head = f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nCookie: {person.cookie_header}\r\n\r\n"
    raw.sendall(head.encode())
    assert raw.recv(1) == b"H"
    return raw


def test_a_reader_who_stops_is_disconnected_and_the_file_closed(
    hasty: Server, alice: Person
) -> None:
    path = store_big_file(hasty, alice)
    with hasty.visit(alice) as client:
        client.head(path).raise_for_status()
    with request(hasty, alice, path):
        assert files_open_in(hasty)
        give_up_at = time.monotonic() + WAIT_SECONDS
        while files_open_in(hasty):
            assert time.monotonic() < give_up_at
            time.sleep(0.05)


@pytest.mark.thorough
def test_a_slow_reader_is_not_disconnected(hasty: Server, alice: Person) -> None:
    with request(hasty, alice, store_big_file(hasty, alice)) as slow:
        for _ in range(40):
            assert slow.recv(2**19, socket.MSG_WAITALL)
            time.sleep(SECONDS / 10)  # this slowness is what is tested


def files_open_in(server: Server) -> list[str]:
    """Return the stored files that the server has open."""
    paths = []
    for link in Path(f"/proc/{server.pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            paths.append(str(link.readlink()))
    return [path for path in paths if path.startswith(f"{server.data_dir}/files/")]


def test_a_reader_who_reads_gets_all_of_it(server: Server, alice: Person, big: str) -> None:
    expected = sha256()
    for number in range(MEGABYTES):
        expected.update(bytes([number]) * 2**20)
    received = sha256()
    with server.visit(alice) as client, client.stream("GET", big) as response:
        for chunk in response.iter_raw():
            received.update(chunk)
    assert received.digest() == expected.digest()


def test_a_file_has_no_policy_but_its_own(server: Server, alice: Person, big: str) -> None:
    with server.visit(alice) as client:
        answer = client.get(big, headers={"Range": "bytes=1048576-1048579"})
    assert (answer.status_code, answer.content) == (206, b"\1\1\1\1")
    assert answer.headers.get_list("content-security-policy") == ["default-src 'none'; sandbox"]
    assert answer.headers.get_list("x-content-type-options") == ["nosniff"]
    assert answer.headers["cache-control"] == "no-store"
