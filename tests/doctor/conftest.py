"""A running app that the doctor may probe, and a certificate authority that is trusted."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from chatapp.doctor.public import Public
from tests.support.certificates import Authority
from tests.support.live import Server, Site, free_port

HTTPS_PORT = free_port()


@pytest.fixture(scope="package")
def server(site: Site) -> Iterator[Server]:
    """An app with the tests' secret key that trusts the https origin of `HTTPS_PORT`."""
    origin = f"https://localhost:{HTTPS_PORT}"
    with site.server(SECRET_KEY=settings.SECRET_KEY, CSRF_TRUSTED_ORIGINS=origin) as server:
        yield server


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    authority = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    return authority


@pytest.fixture
def direct(server: Server) -> Iterator[Public]:
    with Public(server.url) as direct:
        yield direct
