"""A supervisor of small processes that print their ids and exit at a signal."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.live import ROOT
from tests.support.program import Program

pytestmark = pytest.mark.server

PROGRAM = """
import os, select, signal, sys
from chatapp.management.supervisor import Supervisor
from chatapp.server.listeners import bind_listeners

def say(line):
    os.write(1, (line + "\\n").encode())  # in one write, so that lines of others don't mix

supervisor = Supervisor(bind_listeners("127.0.0.1", 0, 2, has_demo=False))
if slot := supervisor.slot():
    SERVE_HERE
else:
    say(f"All have ended {supervisor.has_failed}")
"""
PATIENTLY = """
    signal.signal(signal.SIGTERM, lambda *_: (say("stopped"), sys.exit()))
    awake, wake = os.pipe()  # else a signal just before the wait would be handled after it
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    slot.notify_supervisor()
    say(f"{'first' if slot.is_first else 'another'} {os.getpid()} serves")
    select.select([slot.supervisor, awake], [], [])
    say(f"{os.getpid()} lost its supervisor")
"""


class Supervised(Program):
    ready = r"first \d+ serves"

    def __init__(self, serve: str) -> None:
        super().__init__()
        self._serve = serve

    def command(self) -> list[str]:
        return [sys.executable, "-c", PROGRAM.replace("SERVE_HERE", self._serve.strip())]

    def directory(self) -> str:
        return str(ROOT)

    def find_pid(self, which: str, since: int = 0) -> int:
        return int(self.wait_for(rf"{which} (\d+) serves", since)[1])


@pytest.fixture
def supervised_program() -> Iterator[Supervised]:
    with Supervised(PATIENTLY) as program:
        yield program


def test_a_process_that_dies_is_restarted_and_the_others_go_on(
    supervised_program: Supervised,
) -> None:
    killed, other = supervised_program.find_pid("first"), supervised_program.find_pid("another")
    before = len(supervised_program.lines)
    os.kill(killed, signal.SIGKILL)
    successor = supervised_program.find_pid("another", before)
    assert successor not in (killed, other)
    supervised_program.wait_for(f"Process {killed} exited with -9; starting another")
    assert Path(f"/proc/{other}").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_all_processes(number: signal.Signals) -> None:
    program = Supervised(PATIENTLY)
    program.polite = number
    with program:
        pids = [program.find_pid("first"), program.find_pid("another")]
        assert program.stop() == 0
    assert program.log.count("stopped") == 2
    assert "All have ended False" in program.log
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_ctrl_c_is_passed_on_once(supervised_program: Supervised) -> None:
    supervised_program.find_pid("another")
    os.killpg(supervised_program.pid, signal.SIGINT)  # as a terminal sends it
    assert supervised_program.wait() == 0
    assert supervised_program.log.count("stopped") == 2


def test_processes_notice_that_their_supervisor_died() -> None:
    program = Supervised(PATIENTLY)
    program.start()
    pids = [program.find_pid("first"), program.find_pid("another")]
    program.process.kill()
    for pid in pids:
        program.wait_for(f"{pid} lost its supervisor")
    program.kill()


def test_if_the_first_process_cannot_start_none_is_restarted() -> None:
    program = Supervised("say('there is no database'), sys.exit(1)")
    program.ready = "All have ended True"
    with program:
        program.wait()
    assert program.log.count("there is no database") <= 2
