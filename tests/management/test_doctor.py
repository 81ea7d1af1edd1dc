"""`manage.py doctor`: what it prints, and its exit status."""

import re

import pytest
from django.conf import settings

from chatapp.management.commands.doctor import Command
from tests.doctor.relay import Relay, refuse_upgrades
from tests.support.live import Site, free_port, run


@pytest.mark.thorough
def test_a_good_installation_passes(site: Site) -> None:
    with site.server(SECRET_KEY=settings.SECRET_KEY) as server:
        environment = server.environment | {"COLUMNS": "80"}
        done = run(environment, "manage.py", "doctor", "--url", server.url, "--idle", "0.5")
    assert re.search(r"\n\n1 warning, \d+ ok, \d skipped\.\n$", done.stdout)  # it is plain http
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert settings.SECRET_KEY not in done.stdout + done.stderr
    matches = re.findall(r"^  (?:ok|warning|failed|skipped) +(\S.{15})", done.stdout, re.MULTILINE)
    names = [name.strip() for name in matches]
    assert names.index("Debug pages") < names.index("Reachable") < names.index("Static files")
    assert names[-1] == "Idle socket"
    assert done.stderr == ""


def test_a_bad_installation_fails_with_remedies(site: Site) -> None:
    server = site.server()
    environment = server.environment | {"DEBUG": "1", "ALLOWED_HOSTS": "*"}
    url = f"http://127.0.0.1:{free_port()}"
    done = run(environment, "manage.py", "doctor", "--url", url, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("CommandError: 2 checks failed.")
    assert "→ Unset DEBUG and restart." in done.stdout
    assert "→ Set ALLOWED_HOSTS=127.0.0.1 and restart." in done.stdout
    assert "2 failed, " in done.stdout


@pytest.mark.thorough
def test_without_upgrades_the_checks_that_need_them_are_skipped(site: Site) -> None:
    with (
        site.server(SECRET_KEY=settings.SECRET_KEY) as server,
        Relay(server.url, refuse_upgrades) as relay,
    ):
        done = run(server.environment, "manage.py", "doctor", "--url", relay.url, check=False)
    assert done.returncode == 1
    assert re.search(r"^  failed   WebSocket", done.stdout, re.MULTILINE)
    assert re.search(r"^  skipped  Streaming", done.stdout, re.MULTILINE)
    assert "Idle socket" not in done.stdout


@pytest.mark.thorough
def test_without_a_url_the_public_address_is_not_checked(site: Site) -> None:
    server = site.server(DATABASE_URL=f"postgres://x:hunter22@127.0.0.1:{free_port()}/chat")
    done = run(server.environment, "manage.py", "doctor", check=False)
    assert done.returncode == 1
    assert "Add --url https://your.host" in done.stdout
    assert "hunter22" not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments", [["--url", "chat.example"], ["--url", "https://me:pw@x"], ["--idle", "long"]]
)
def test_bad_arguments_are_reported(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        Command().run_from_argv(["manage.py", "doctor", *arguments])
    assert ended.value.code == 2
    assert "for example" in capsys.readouterr().err
