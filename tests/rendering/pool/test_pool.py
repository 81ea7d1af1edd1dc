"""The worker pool kills workers that take too long and starts new ones."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from chatapp.rendering.markdown import LiveMarkdown, render
from chatapp.rendering.pool import Renderer, processes
from chatapp.rendering.pool.texts import RENDER_SKIPPED
from tests.rendering.pool.processes import CODE, SLOW, WAIT_SECONDS, cpu_ticks, is_alive, until


def test_a_worker_that_does_not_answer_is_killed_and_the_text_shown_unformatted(
    renderer: Renderer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "SECONDS_A_REQUEST", 1.0)
    renderer.render_texts([CODE])
    [pid] = renderer.pool.pids
    os.kill(pid, signal.SIGSTOP)
    text = "*never* $x$"
    html = renderer.render_texts([text])(text)
    assert RENDER_SKIPPED in html
    assert "*never* $x$</pre>" in html
    assert not is_alive(pid)
    monkeypatch.undo()
    assert renderer.render_texts(["so $y$"])("so $y$") == render("so $y$")


def test_an_idle_worker_that_was_killed_is_replaced(renderer: Renderer) -> None:
    renderer.render_texts([CODE])
    [pid] = renderer.pool.pids
    os.kill(pid, signal.SIGKILL)
    until(lambda: not is_alive(pid))
    assert renderer.render_texts(["so $y$"])("so $y$") == render("so $y$")


async def test_a_worker_killed_at_work_leaves_one_text_unformatted(renderer: Renderer) -> None:
    renderer.render_texts([CODE])
    [pid] = renderer.pool.pids
    live = LiveMarkdown()
    live.append(SLOW + "\nend")
    while live.is_behind:
        live.changes()
    jobs = live.jobs()
    used = cpu_ticks(pid)
    drawing = asyncio.create_task(renderer.render_jobs(jobs))
    await asyncio.to_thread(
        until, lambda: cpu_ticks(pid) > used + 10
    )  # wait until it is in the lexer
    os.kill(pid, signal.SIGKILL)
    assert await drawing == []
    assert "a\t\na" in live.html()
    assert renderer.render_texts(["so $y$"])("so $y$") == render("so $y$")


def test_texts_are_shown_unformatted_while_no_process_can_be_started(
    renderer: Renderer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(processes, "ROOT", tmp_path / "nowhere")
        html = renderer.render_texts(["so $y$"])("so $y$")
        assert RENDER_SKIPPED in html
    assert renderer.render_texts(["so $y$"])("so $y$") == render("so $y$")


def test_a_request_that_waits_too_long_for_its_turn_is_given_up(renderer: Renderer) -> None:
    with pytest.raises(processes.PoolBusy):
        renderer.pool.submit(b"", -1.0).result(WAIT_SECONDS)


def test_a_closed_pool_refuses_requests_and_texts_are_shown_unformatted(renderer: Renderer) -> None:
    renderer.pool.close()
    with pytest.raises(processes.PoolBusy):
        renderer.pool.submit(b"", WAIT_SECONDS).result(WAIT_SECONDS)
    assert RENDER_SKIPPED in renderer.render_texts([CODE])(CODE)
