"""Calls of cmark-gfm: memory, the GIL and threads."""

import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from chatapp.rendering.markdown.commonmark import to_html

from .texts import ANSWER

STATM = Path("/proc/self/statm")


def resident_pages() -> int:
    return int(STATM.read_text().split()[1])


@pytest.mark.skipif(not STATM.exists(), reason="needs /proc to see this process's memory")
def test_rendering_frees_its_memory() -> None:
    for _ in range(200):
        to_html(ANSWER)
    before = resident_pages()
    for _ in range(1000):
        to_html(ANSWER)
    assert resident_pages() - before < 500  # a leak takes ten times that


@pytest.fixture
def no_switching() -> Iterator[None]:
    """Prevent threads from taking the GIL from a thread that does not release it."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    yield
    sys.setswitchinterval(interval)


def test_rendering_holds_the_gil(no_switching: None) -> None:
    turns, is_done = 0, False

    def take_turns() -> None:
        nonlocal turns
        while not is_done:
            turns += 1
            time.sleep(0)

    thread = threading.Thread(target=take_turns)
    thread.start()
    while not turns:
        time.sleep(0)
    before = turns
    for _ in range(100):
        to_html(ANSWER)
    after = turns
    is_done = True
    thread.join()
    assert after == before


def test_threads_that_render_at_the_same_time_do_not_interfere() -> None:
    text = "~~struck~~ and http://a.b/c, a@b.cd, www.x.yz\n\n" * 3
    alone = to_html(text)
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(to_html, [text] * 4000))
    assert together.count(alone) == 4000


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("~a~ ~~b ~c~~", "<p>~a~ <del>b ~c</del></p>\n"),
        (
            "[a] [a] [a]\n\n[a]: /b",
            '<p><a href="/b">a</a> <a href="/b">a</a> <a href="/b">a</a></p>\n',
        ),
        ("http://intern/a", '<p><a href="http://intern/a">http://intern/a</a></p>\n'),
        ("<b>a</b>", "<p><!-- raw HTML omitted -->a<!-- raw HTML omitted --></p>\n"),
        ("1.", "<ol>\n<li></li>\n</ol>\n"),
    ],
)
def test_details_that_differ_in_other_libraries(text: str, html: str) -> None:
    assert to_html(text) == html
