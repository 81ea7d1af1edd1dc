"""Decides where a text is rendered: in place, by a worker, or not at all if it is cached."""

import asyncio
import atexit
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeout

from django.utils.safestring import SafeString, mark_safe

from chatapp.concurrency.event_loop import TimeSlice
from chatapp.rendering.markdown import (
    PLAIN,
    Job,
    budgets,
    render_at_once,
    render_plain,
    render_typed,
    render_typed_at_once,
)
from chatapp.rendering.markdown.characters import encodable
from chatapp.rendering.pool.cache import Cache, make_key
from chatapp.rendering.pool.jobs import SomeBlocks, Typed, WholeText, decode_answer, encode
from chatapp.rendering.pool.processes import Pool, PoolBusy, RenderSkipped

logger = logging.getLogger(__name__)

Text = str | Typed
GetHtml = Callable[[Text], SafeString]

WORKERS = 3
MAX_CACHED_BYTES = 16 * 1024 * 1024
PATIENCE_SECONDS = 5.0  # how long a text waits for its turn
RENDER_SKIPPED = "This text could not be formatted in time and is shown as plain text."
# Rendered at start, so that Pygments has loaded its lexers for the most frequent languages.
WARM = "\n".join(
    f"```{language}\nx\n```"
    for language in ("python", "bash", "javascript", "json", "html", "css", "sql", "yaml", "c")
)


class Renderer:
    """The workers of this process and the cache of their results."""

    def __init__(self, workers: int = WORKERS) -> None:
        self.pool = Pool(workers)
        self._cache = Cache(MAX_CACHED_BYTES)
        self._running: dict[bytes, Future[bytes]] = {}

    def render_texts(self, texts: Iterable[Text]) -> GetHtml:
        """Render the texts and return a function to their HTML. Blocks until all are done."""
        renderings = {text: self._begin(text) for text in set(texts)}
        give_up_at = time.monotonic() + 2 * PATIENCE_SECONDS
        html_by_text: dict[Text, SafeString] = {}
        for text, html in renderings.items():
            if isinstance(html, Future):
                try:
                    answer = html.result(max(0.0, give_up_at - time.monotonic()))
                    html_by_text[text] = self._cache_answer(text, answer)
                except (RenderSkipped, FutureTimeout, CancelledError) as error:
                    html_by_text[text] = self._give_up(text, error)
            else:
                html_by_text[text] = html
        return html_by_text.__getitem__

    async def arender_texts(self, texts: Iterable[Text], patience: float) -> GetHtml:
        """Like `render_texts`, without blocking the event loop."""
        renderings: dict[Text, SafeString | Future[bytes]] = {}
        share = TimeSlice()
        for text in set(texts):
            renderings[text] = self._begin(text)
            await share.yield_if_used_up()
        html_by_text: dict[Text, SafeString] = {}
        for text, html in renderings.items():
            if isinstance(html, Future):
                html_by_text[text] = await self._await_html(text, html, patience)
            else:
                html_by_text[text] = html
        return html_by_text.__getitem__

    async def render_jobs(self, jobs: Sequence[Job]) -> list[str]:
        """Return the HTML of the jobs in order, or an empty list if rendering failed."""
        request = SomeBlocks([(job.block, job.definitions) for job in jobs])
        try:
            answer: bytes = await asyncio.wrap_future(
                self.pool.submit(encode(request), PATIENCE_SECONDS)
            )
        except RenderSkipped:
            return []
        return decode_answer(answer)

    def forget(self) -> None:
        self._cache = Cache(MAX_CACHED_BYTES)

    def _begin(self, text: Text) -> SafeString | Future[bytes]:
        key = _make_key(text)
        if (cached := self._cache.get(key)) is not None:
            return cached
        if (html := _at_once(text)) is not None:
            self._cache.put(key, html)
            return html
        if (running := self._running.get(key)) is not None:
            return running
        future = self.pool.submit(encode(_request(text)), PATIENCE_SECONDS)
        self._running[key] = future
        future.add_done_callback(lambda _: self._running.pop(key, None))
        return future

    async def _await_html(self, text: Text, future: Future[bytes], patience: float) -> SafeString:
        try:
            async with asyncio.timeout(patience):
                # Others may be waiting for it too, so cancelling one waiter must not cancel it.
                answer = await asyncio.shield(asyncio.wrap_future(future))
        except (RenderSkipped, TimeoutError) as error:
            return self._give_up(text, error)
        return self._cache_answer(text, answer)

    def _cache_answer(self, text: Text, answer: bytes) -> SafeString:
        html = mark_safe("".join(decode_answer(answer)))  # noqa: S308 - output of `markdown.render`
        self._cache.put(_make_key(text), html)
        return html

    def _give_up(self, text: Text, error: BaseException) -> SafeString:
        html = _plain(text)
        if isinstance(error, RenderSkipped) and not isinstance(error, PoolBusy):
            self._cache.put(_make_key(text), html)  # it would take too long again
        return html


def _make_key(text: Text) -> bytes:
    return make_key(text.text, b"typed") if isinstance(text, Typed) else make_key(text)


def _plain(text: Text) -> SafeString:
    return (
        render_typed(text.text, PLAIN)
        if isinstance(text, Typed)
        else render_plain(text, RENDER_SKIPPED)
    )


def _at_once(text: Text) -> SafeString | None:
    return render_typed_at_once(text.text) if isinstance(text, Typed) else render_at_once(text)


def _request(text: Text) -> WholeText | Typed:
    """Build a request with the text cut to what is shown, plus one character to detect the cut."""
    kind, whole = (Typed, text.text) if isinstance(text, Typed) else (WholeText, text)
    return kind(encodable(whole[: budgets.MAX_TEXT_LENGTH + 1]))


_renderer: Renderer | None = None


def _shared_renderer() -> Renderer:
    """Return this process's renderer, created on first use."""
    global _renderer
    if _renderer is None:
        _renderer = Renderer()
        atexit.register(shut_down)
    return _renderer


def render_texts(texts: Iterable[Text]) -> GetHtml:
    return _shared_renderer().render_texts(texts)


async def arender_texts(texts: Iterable[Text], patience: float = 2 * PATIENCE_SECONDS) -> GetHtml:
    return await _shared_renderer().arender_texts(texts, patience)


async def render_jobs(jobs: Sequence[Job]) -> list[str]:
    return await _shared_renderer().render_jobs(jobs)


def forget() -> None:
    """Empty the cache, after the owner of some texts was removed."""
    if _renderer is not None:
        _renderer.forget()


def warm_up() -> None:
    """Start a worker, so that the first request need not wait for it."""
    _shared_renderer().pool.submit(encode(WholeText(WARM)), PATIENCE_SECONDS)


def shut_down() -> None:
    """Stop the workers. A later request starts new ones."""
    global _renderer
    if _renderer is not None:
        _renderer.pool.close()
        _renderer = None
