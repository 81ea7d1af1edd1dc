"""`manage.py upgrade` and `serve --upgrade`: do only what is necessary."""

from pathlib import Path

import httpx
import pytest

from tests.support.live import Server, Site, run

UPGRADE = ("manage.py", "upgrade")


@pytest.fixture
def environment(site: Site) -> dict[str, str]:
    """An installation after one upgrade."""
    environment = site.missing_installation()
    run(environment, *UPGRADE)
    return environment


def get_static_folder(environment: dict[str, str]) -> Path:
    return Path(environment["DATA_DIR"]) / "static"


@pytest.mark.thorough
def test_an_upgrade_migrates_and_collects(environment: dict[str, str]) -> None:
    run(environment, "manage.py", "migrate", "--check")
    assert (get_static_folder(environment) / "css" / "base" / "app.css").exists()


@pytest.mark.thorough
def test_a_second_upgrade_changes_nothing(environment: dict[str, str]) -> None:
    copy = get_static_folder(environment) / "css" / "base" / "app.css"
    copy.write_text("/* stays, since no source has changed */")
    run(environment, *UPGRADE)
    assert copy.read_text() == "/* stays, since no source has changed */"


@pytest.mark.thorough
def test_files_collected_from_other_sources_are_replaced(environment: dict[str, str]) -> None:
    copy = get_static_folder(environment) / "css" / "base" / "app.css"
    right = copy.read_text()
    copy.write_text("/* of another version */")
    (get_static_folder(environment) / ".sources").write_text("of another version")
    run(environment, *UPGRADE)
    assert copy.read_text() == right


@pytest.mark.thorough
def test_only_collected_files_are_readable_by_others(environment: dict[str, str]) -> None:
    directory = Path(environment["DATA_DIR"])
    modes = {path.name: path.stat().st_mode & 0o077 for path in directory.iterdir()}
    assert modes.pop("static") == 0o055
    assert not any(modes.values()), modes


@pytest.mark.thorough
def test_one_command_creates_an_installation_and_serves_it(site: Site) -> None:
    with Server(site.missing_installation(), "--upgrade") as server:
        page = httpx.get(server.url, follow_redirects=True)
        assert page.status_code == 200
        assert httpx.get(f"{server.url}/static/css/base/app.css").status_code == 200
