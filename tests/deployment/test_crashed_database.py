"""PostgreSQL crashes: everything confirmed is in the audit log, and the log verifies."""

import json
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.deployment.services import Postgres
from tests.support.live import ROOT, Site, child_environment, run
from tests.support.program import Program

pytestmark = pytest.mark.thorough

CRASHES, WRITERS = 3, 4
RECORD = """
import django, sys; django.setup()
from itertools import count
from django.db import OperationalError, transaction
from chatapp.models import ReviewLabel, audit
for number in count(1):
    try:
        with transaction.atomic():
            label = ReviewLabel.objects.create(name=f"{sys.argv[1]}.{number}")
            event = audit.record("reviewlabel.added", actor=None, about=label)
    except OperationalError:
        break
    print(f"appended {number}: {event.sequence}", flush=True)
"""
RECORDED = """
import django, json; django.setup()
from chatapp.models import AuditEvent, ReviewLabel
of = dict(AuditEvent.objects.filter(action="reviewlabel.added").values_list("sequence", "target"))
print(json.dumps([of, [str(pk) for pk in ReviewLabel.objects.values_list("pk", flat=True)]]))
"""


class Writer(Program):
    ready = r"appended 1:"

    def __init__(self, environment: dict[str, str], name: str) -> None:
        super().__init__()
        self._environment, self._name = environment, name

    def command(self) -> list[str]:
        return [sys.executable, "-c", RECORD, self._name]

    def directory(self) -> str:
        return str(ROOT)

    def child_environment(self) -> dict[str, str]:
        return child_environment(self._environment)


@pytest.fixture
def durable(programs: None) -> Iterator[Postgres]:
    with Postgres(is_durable=True) as postgres:
        yield postgres


def test_a_crash_loses_nothing_that_was_confirmed(durable: Postgres, tmp_path: Path) -> None:
    environment = Site(tmp_path, durable.url).missing_installation()
    run(environment, "manage.py", "migrate", "--verbosity", "0")
    confirmed: set[int] = set()
    for crash in range(CRASHES):
        with ExitStack() as started:
            writers = [Writer(environment, f"{crash}.{number}") for number in range(WRITERS)]
            for writer in writers:
                started.enter_context(writer)
            writers[-1].wait_for("appended 100:")
            durable.kill()
            for writer in writers:
                assert writer.wait() == 0, writer.log
        confirmed |= {
            int(match) for writer in writers for match in re.findall(r": (\d+)\n", writer.log)
        }
        durable.start()
        of, labels = json.loads(run(environment, "-c", RECORDED).stdout)
        assert not confirmed - set(map(int, of))
        assert sorted(of.values()) == sorted(labels)
        assert "The audit log is intact" in run(environment, "manage.py", "audit", "verify").stdout
    assert len(confirmed) > CRASHES * WRITERS
