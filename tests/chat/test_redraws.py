"""Scheduled redraws of a tab: at most one waits and at most one runs."""

import asyncio

from chatapp.chat.redraws import Draw, Redraws


class Drawing:
    """Records which redraws began, and which were cancelled while they ran."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.cancelled: list[str] = []
        self.has_begun = asyncio.Event()

    def draw(self, name: str) -> Draw:
        async def record_draw() -> None:
            self.begun.append(name)
            self.has_begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled.append(name)
                raise

        return record_draw


async def test_a_scheduled_redraw_replaces_the_one_that_waits() -> None:
    drawing, redraws = Drawing(), Redraws()
    redraws.schedule(0, drawing.draw("first"))
    redraws.schedule(0, drawing.draw("second"))
    assert redraws.is_scheduled
    await drawing.has_begun.wait()
    assert drawing.begun == ["second"]
    assert not redraws.is_scheduled
    redraws.cancel()


async def test_a_redraw_that_begins_cancels_the_one_that_runs() -> None:
    drawing, redraws = Drawing(), Redraws()
    for name in ("first", "second"):
        drawing.has_begun.clear()
        redraws.schedule(0, drawing.draw(name))
        await drawing.has_begun.wait()
    assert drawing.cancelled == ["first"]
    redraws.cancel()


async def test_nothing_is_drawn_after_cancelling() -> None:
    drawing, redraws = Drawing(), Redraws()
    redraws.schedule(0, drawing.draw("running"))
    await drawing.has_begun.wait()
    redraws.schedule(0, drawing.draw("waiting"))
    redraws.cancel()
    assert not redraws.is_scheduled
    await asyncio.sleep(0)  # the timer is due, and the cancelled task ends
    await asyncio.sleep(0)
    assert (drawing.begun, drawing.cancelled) == (["running"], ["running"])
