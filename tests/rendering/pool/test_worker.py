"""A worker process renders like the server, inherits nothing from it, and has limits."""

import subprocess
import sys
from pathlib import Path

import pytest

from chatapp.rendering.markdown import render
from chatapp.rendering.pool import Renderer
from tests.rendering.pool.processes import CODE, SLOW, is_alive, until
from tests.support.live import ROOT


def test_a_worker_renders_like_this_process(renderer: Renderer) -> None:
    texts = [CODE, "so $x^2$", "Some *words*.", "\ud800 $a$"]
    html_of = renderer.render_texts(texts)
    assert [html_of(text) for text in texts] == [render(text) for text in texts]


def test_a_worker_has_neither_our_environment_nor_our_files(
    renderer: Renderer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    renderer.render_texts([CODE])
    [pid] = renderer.pool.pids
    assert Path(f"/proc/{pid}/environ").read_bytes() == b""
    files = [str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir()]
    assert sorted(name.partition(":")[0] for name in files) == ["/dev/null", "/dev/null", "socket"]


def test_code_whose_lexer_never_ends_is_shown_without_colours(renderer: Renderer) -> None:
    html = renderer.render_texts([SLOW + CODE])(SLOW + CODE)
    assert '<code class="language-csharp">a\t\na' in html
    assert '<span class="k">def</span>' in html  # the other block has colours
    [pid] = renderer.pool.pids  # the worker was not killed
    assert is_alive(pid)


def test_a_workers_memory_is_limited(renderer: Renderer) -> None:
    renderer.render_texts([CODE])
    [pid] = renderer.pool.pids
    limits = Path(f"/proc/{pid}/limits").read_text()
    assert str(1024**3) in limits.partition("Max address space")[2].partition("\n")[0]


@pytest.mark.server
def test_a_worker_ends_with_its_parent_even_if_that_is_killed() -> None:
    script = f"""
from chatapp.rendering.pool import Renderer
if True:
    renderer = Renderer(workers=2)
    renderer.render_texts([{CODE!r}])
    print(*renderer.pool.pids, flush=True)
    input()
"""
    with subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        try:
            assert parent.stdout
            pids = [int(pid) for pid in parent.stdout.readline().split()]
            assert pids
            assert all(is_alive(pid) for pid in pids)
        finally:
            parent.kill()
    until(lambda: not any(is_alive(pid) for pid in pids))
