"""A real program in a process of its own, for tests: started, stopped, killed or paused, and waited
for by what it logs.


    class Redis(Program):
        ready = r"Ready to accept connections"
        def command(self) -> list[str]: ...

    with Redis() as redis:
        redis.kill()
        redis.start()                 # on the same port
"""

import os
import re
import signal
import subprocess
import threading
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Self

WAIT_SECONDS = 60.0  # a test's limit for what must happen; never reached when it does


class Program:
    """One program; use it as a context manager, or call `start` and then `stop` or `kill`."""

    ready = ""  # the pattern of the log line that says it is ready
    polite = signal.SIGTERM
    impolite = signal.SIGKILL

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._process: subprocess.Popen[str] | None = None
        self._more = threading.Condition()
        self._has_ended = False
        self._is_paused = False

    def command(self) -> list[str]:
        raise NotImplementedError

    def child_environment(self) -> Mapping[str, str] | None:
        """Return the whole environment of the process, or None to inherit ours."""
        return None

    def directory(self) -> str | None:
        return None

    def check_log(self) -> None:
        """Fail if the log shows something that should not have happened."""

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.is_running:
            status = self.stop()
            assert error or status == 0, self.log
        if not error:
            self.check_log()

    @property
    def log(self) -> str:
        """The lines that it printed and logged over all its starts."""
        return "".join(self.lines)

    @property
    def process(self) -> "subprocess.Popen[str]":
        assert self._process, "it was never started"
        return self._process

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        return self.process.pid

    def start(self) -> Self:
        """Start it and wait until it is ready."""
        self.begin_start()
        return self

    def begin_start(self) -> re.Match[str]:
        """Start it and return the match of the log line that says it is ready."""
        assert not self.is_running
        started_at = len(self.lines)
        self._has_ended = self._is_paused = False
        self._process = subprocess.Popen(
            self.command(),
            cwd=self.directory(),
            env=self.child_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            process_group=0,
        )
        self._reader = threading.Thread(target=self._read, args=[self._process], daemon=True)
        self._reader.start()
        try:
            return self.wait_for(self.ready, started_at)
        except BaseException:
            self._signal_all(signal.SIGKILL)
            self.wait()
            raise

    def wait_for(self, pattern: str, since: int = 0) -> re.Match[str]:
        """Wait until its log, from line number `since` on, matches the pattern."""

        def find_match() -> re.Match[str] | None:
            return re.search(pattern, "".join(self.lines[since:]))

        with self._more:
            self._more.wait_for(lambda: find_match() or self._has_ended, WAIT_SECONDS)
        match = find_match()
        assert match, f"{pattern!r} is not in its log:\n{self.log}"
        return match

    def stop(self) -> int:
        """End it as a service manager would; return its exit status."""
        self.begin_stop()
        return self.wait()

    def kill(self) -> None:
        """End it and its children without warning."""
        self._signal_all(self.impolite)
        self.wait()

    def begin_stop(self) -> None:
        """Ask it to end, without waiting."""
        self.process.send_signal(self.polite)
        self.resume()

    def pause(self) -> None:
        """Stop its execution: connections stay open and nothing is answered."""
        self._signal_all(signal.SIGSTOP)
        self._is_paused = True

    def resume(self) -> None:
        if self._is_paused:
            self._signal_all(signal.SIGCONT)
            self._is_paused = False

    def wait(self) -> int:
        """Wait for its end; return its exit status."""
        try:
            return self.process.wait(WAIT_SECONDS)
        finally:
            self._signal_all(signal.SIGKILL)
            self._reader.join(WAIT_SECONDS)

    def _signal_all(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):  # already ended
            os.killpg(self.pid, number)

    def _read(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout
        with process.stdout:
            for line in process.stdout:
                with self._more:
                    self.lines.append(line)
                    self._more.notify_all()
        with self._more:
            self._has_ended = True
            self._more.notify_all()
