"""The workers as a pool: killed where they take too long, and started again."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from chatapp.markdown import LiveMarkdown, render
from chatapp.rendering import Renderer, pool
from chatapp.rendering.texts import UNDONE
from tests.rendering.processes import CODE, SLOW, WAIT_SECONDS, cpu_ticks, is_alive, until


def test_a_worker_that_does_not_answer_is_killed_and_the_text_shown_as_written(
    renderer: Renderer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "SECONDS_A_REQUEST", 1.0)
    renderer.rendered([CODE])
    [pid] = renderer.pool.pids
    os.kill(pid, signal.SIGSTOP)
    text = "*never* $x$"
    html = renderer.rendered([text])(text)
    assert UNDONE in html
    assert "*never* $x$</pre>" in html
    assert not is_alive(pid)
    monkeypatch.undo()
    assert renderer.rendered(["so $y$"])("so $y$") == render("so $y$")


def test_a_killed_worker_costs_nothing_while_it_was_idle(renderer: Renderer) -> None:
    renderer.rendered([CODE])
    [pid] = renderer.pool.pids
    os.kill(pid, signal.SIGKILL)
    until(lambda: not is_alive(pid))
    assert renderer.rendered(["so $y$"])("so $y$") == render("so $y$")


async def test_a_worker_killed_at_work_costs_one_texts_dress(renderer: Renderer) -> None:
    renderer.rendered([CODE])
    [pid] = renderer.pool.pids
    live = LiveMarkdown()
    live.append(SLOW + "\nend")
    while live.is_behind:
        live.changes()
    jobs = live.jobs()
    used = cpu_ticks(pid)
    drawing = asyncio.create_task(renderer.drawn(jobs))
    await asyncio.to_thread(until, lambda: cpu_ticks(pid) > used + 10)  # it is in the lexer
    os.kill(pid, signal.SIGKILL)
    assert await drawing == []
    assert "a\t\na" in live.html()
    assert renderer.rendered(["so $y$"])("so $y$") == render("so $y$")


def test_where_no_process_can_be_started_texts_are_shown_as_written_until_one_can(
    renderer: Renderer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(pool, "ROOT", tmp_path / "nowhere")
        html = renderer.rendered(["so $y$"])("so $y$")
        assert UNDONE in html
    assert renderer.rendered(["so $y$"])("so $y$") == render("so $y$")


def test_a_text_that_waits_too_long_for_its_turn_is_shown_as_written(renderer: Renderer) -> None:
    with pytest.raises(pool.TooBusy):
        renderer.pool.submit(b"", -1.0).result(WAIT_SECONDS)


def test_a_closed_pool_refuses_and_the_text_is_shown_as_written(renderer: Renderer) -> None:
    renderer.pool.close()
    with pytest.raises(pool.TooBusy):
        renderer.pool.submit(b"", WAIT_SECONDS).result(WAIT_SECONDS)
    assert UNDONE in renderer.rendered([CODE])(CODE)
