"""`manage.py migrate` by several processes at once, and the lock that serialises them."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from chatapp.db.locks import only_one_process
from tests.support.live import ROOT, Site, child_environment, run
from tests.support.program import WAIT_SECONDS

# It logs as the app does, but needs no models, which take most of the time of a start.
LOCKED = """
from django.conf import settings
from django.utils.log import configure_logging
configure_logging(settings.LOGGING_CONFIG, settings.LOGGING)
from chatapp.db.locks import only_one_process
with only_one_process("test"):
    print("inside", flush=True)
    input()
print("outside", flush=True)
"""


@pytest.mark.thorough
def test_processes_that_start_together_migrate_once(site: Site) -> None:
    environment = site.missing_installation()
    with ThreadPoolExecutor(3) as pool:
        migrating = [pool.submit(run, environment, "manage.py", "migrate") for _ in range(3)]
        outputs = [done.result().stdout for done in migrating]
    initial = "Applying chatapp.0001_initial... OK"
    assert sorted(initial in text for text in outputs) == [False, False, True]
    assert sum("No migrations to apply." in text for text in outputs) == 2
    run(environment, "manage.py", "migrate", "--check")


def test_a_waiting_process_gets_the_lock_when_its_owner_dies(site: Site) -> None:
    environment = site.missing_installation()
    with start_lock_holder(environment) as owner:
        assert owner.stdout
        assert owner.stdout.readline() == "inside\n"
        with start_lock_holder(environment) as other:
            assert other.stdout
            assert other.stderr
            assert "Waiting for another process to finish: test" in other.stderr.readline()
            owner.kill()
            assert other.stdout.readline() == "inside\n"
            assert other.communicate("\n", WAIT_SECONDS)[0] == "outside\n"


def test_the_lock_is_released_after_the_block(db: None) -> None:
    for _ in range(2):
        with only_one_process("test"):
            pass


def start_lock_holder(environment: dict[str, str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", LOCKED],
        cwd=ROOT,
        env=child_environment(environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
