"""The workers: killed where they take too long, started again, and with nothing of ours in them."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench.bombs import TEXTS
from chatapp.markdown import LiveMarkdown, budgets, render
from chatapp.rendering import Renderer, pool
from chatapp.rendering.texts import UNDONE
from tests.live import ROOT

CODE = "```python\ndef f(): pass\n```"
SLOW = TEXTS["C# fence, 16 KB"](1)  # some 20 seconds of Pygments
WAIT_SECONDS = 15.0


@pytest.fixture
def renderer() -> Iterator[Renderer]:
    renderer = Renderer(workers=1)
    yield renderer
    renderer.pool.close()


def until(condition: Callable[[], object]) -> None:
    give_up_at = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < give_up_at
        time.sleep(0.01)


def cpu_ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11])


def is_alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def test_a_worker_renders_as_this_process_would(renderer: Renderer) -> None:
    texts = [CODE, "so $x^2$", "Some *words*.", "\ud800 $a$"]
    html_of = renderer.rendered(texts)
    assert [html_of(text) for text in texts] == [render(text) for text in texts]


def test_what_was_rendered_is_not_rendered_again(renderer: Renderer) -> None:
    renderer.rendered([CODE])
    renderer.pool.close()
    assert renderer.rendered([CODE])(CODE) == render(CODE)


def test_a_small_text_needs_no_worker(renderer: Renderer) -> None:
    renderer.rendered(["Some *words*.", "- a\n- [b](http://c.d)"])
    assert renderer.pool.pids == []


def test_a_worker_has_neither_our_environment_nor_our_files(
    renderer: Renderer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    renderer.rendered([CODE])
    [pid] = renderer.pool.pids
    assert Path(f"/proc/{pid}/environ").read_bytes() == b""
    files = [str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir()]
    assert sorted(name.partition(":")[0] for name in files) == ["/dev/null", "/dev/null", "socket"]


def test_code_whose_lexer_never_ends_is_shown_without_colours(renderer: Renderer) -> None:
    html = renderer.rendered([SLOW + CODE])(SLOW + CODE)
    assert '<code class="language-csharp">a\t\na' in html
    assert '<span class="k">def</span>' in html  # of the other block
    [pid] = renderer.pool.pids  # it did not have to be killed
    assert is_alive(pid)


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


def test_a_text_that_waits_too_long_for_its_turn_is_shown_as_written(renderer: Renderer) -> None:
    with pytest.raises(pool.TooBusy):
        renderer.pool.submit(b"", -1.0).result(WAIT_SECONDS)


def test_a_worker_takes_no_more_memory_than_it_may(renderer: Renderer) -> None:
    renderer.rendered([CODE])
    [pid] = renderer.pool.pids
    limits = Path(f"/proc/{pid}/limits").read_text()
    assert str(1024**3) in limits.partition("Max address space")[2].partition("\n")[0]


def test_no_worker_outlives_its_parent_even_where_that_is_killed() -> None:
    script = f"""
from chatapp.rendering import Renderer
if True:
    renderer = Renderer(workers=2)
    renderer.rendered([{CODE!r}])
    renderer.pool.submit(b"", 1)
    print(*renderer.pool.pids, flush=True)
    input()
"""
    parent = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    assert pids
    assert all(is_alive(pid) for pid in pids)
    parent.kill()
    parent.communicate()
    until(lambda: not any(is_alive(pid) for pid in pids))


def test_the_least_used_texts_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chatapp.rendering.texts.MOST_CACHED_BYTES", 3000)
    renderer = Renderer()
    for number in range(20):
        renderer.rendered([f"word {number} " + "a" * 500])
    assert renderer._cache._bytes <= 3000
    assert 1 <= len(renderer._cache._kept) <= 5
    renderer.pool.close()


async def test_an_endless_text_is_cut_by_a_worker_as_anywhere(renderer: Renderer) -> None:
    text = "word " * (budgets.LONGEST_TEXT // 5 + 1)
    html = (await renderer.arendered([text], WAIT_SECONDS))(text)
    assert html.endswith(f"{budgets.TOO_LONG}</p></div>")
