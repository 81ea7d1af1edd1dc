"""An installation to back up, its archive, and an empty installation."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.management.archives import MAKE_CONVERSATION
from tests.support.live import Server, Site, run


@pytest.fixture(scope="package")
def installation(site: Site) -> Iterator[Server]:
    """An installation that has a recording; its server does not run, but runs scripts."""
    server = site.server()
    recording = server.data_dir / "recordings" / "one.jsonl"
    recording.parent.mkdir()
    recording.write_text("{}\n")
    with ExitStack() as stack:
        stack.push(server)
        yield server


@pytest.fixture(scope="package")
def conversation(installation: Server) -> str:
    """The path of a conversation of Olive's with a running reply."""
    return installation.run(MAKE_CONVERSATION).strip()


@pytest.fixture(scope="package")
def archive(
    installation: Server, conversation: str, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    file = tmp_path_factory.mktemp("backups") / "chatapp.zip"
    run(installation.environment, "manage.py", "backup", str(file))
    return file


@pytest.fixture
def empty(site: Site) -> dict[str, str]:
    return site.missing_installation()
