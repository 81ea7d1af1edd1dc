"""Living and dead processes, and what the dead leave behind, whatever clocks say."""

import os
import subprocess
from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from chatapp.models import Conversation, Message, Process, Upstream
from chatapp.models.platform.processes import EXPIRY_SECONDS, HeartbeatMonitor
from tests.support.stored import MODEL

pytestmark = pytest.mark.django_db


def test_a_reply_of_a_living_process_is_no_orphan(
    conversation: Conversation, gateway: Upstream
) -> None:
    process = Process.current(is_alone=False)
    process.record_heartbeat()
    conversation.ask(uuid4(), "Why?", None, gateway, MODEL, process.pk)
    silences, moment = HeartbeatMonitor(), 100.0
    for clock in (0, 30, -3600, 3600, 1, 0):  # the database's clock is changed
        Process.objects.update(seen_at=timezone.now() + timedelta(seconds=clock))
        moment += EXPIRY_SECONDS - 1
        Process.objects.forget(
            silences.find_dead(Process.objects.read_heartbeats(), moment, since=0)
        )
    assert Message.objects.interrupt_orphans() == 0


def test_a_reply_of_a_silent_process_becomes_an_orphan(
    conversation: Conversation, gateway: Upstream
) -> None:
    process, moment = Process.current(is_alone=False), 100.0
    process.record_heartbeat()
    conversation.ask(uuid4(), "Why?", None, gateway, MODEL, process.pk)
    silences = HeartbeatMonitor()
    assert not silences.find_dead(Process.objects.read_heartbeats(), moment, since=0)
    late = moment + EXPIRY_SECONDS + 0.1
    # The database did not answer until just now.
    assert not silences.find_dead(Process.objects.read_heartbeats(), late, since=late - 1)
    dead = silences.find_dead(Process.objects.read_heartbeats(), late, since=0)
    Process.objects.update(seen_at=timezone.now() + timedelta(seconds=1))
    Process.objects.forget(dead)  # it isn't: it has sent a heartbeat meanwhile
    assert Message.objects.interrupt_orphans() == 0
    assert not silences.find_dead(Process.objects.read_heartbeats(), late, since=0)
    later = late + EXPIRY_SECONDS + 0.1
    Process.objects.forget(silences.find_dead(Process.objects.read_heartbeats(), later, since=0))
    assert Message.objects.interrupt_orphans() == 1


def test_a_forgotten_process_registers_again_with_its_next_heartbeat(db: None) -> None:
    process = Process.current(is_alone=False)
    assert process.record_heartbeat()
    assert not process.record_heartbeat()
    Process.objects.all().delete()
    assert process.record_heartbeat()
    assert Process.objects.get().pk == process.pk


def test_processes_that_died_on_this_host_are_found_at_once(db: None) -> None:
    died = subprocess.Popen(["true"])
    died.wait()
    living, dead = (Process.current(is_alone=True) for _ in range(2))
    living.pid, dead.pid = os.getppid(), died.pid
    elsewhere = Process(place="another host", pid=died.pid, is_alone=True)
    for process in (living, dead, elsewhere):
        process.save()
    Process.objects.forget_dead_on_this_host()
    assert set(Process.objects.all()) == {living, elsewhere}
