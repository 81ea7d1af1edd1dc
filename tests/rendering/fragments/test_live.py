"""A viewer that applies every frame ends up with the page that a snapshot would draw."""

from collections.abc import Callable
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from chatapp.models import Message
from chatapp.models.conversations.messages.rounds import RunState, ToolRun
from chatapp.rendering.fragments import LiveReply, snapshot_fragment
from chatapp.rendering.markdown.budgets import WORK_A_TURN
from chatapp.upstream.wire.errors.upstream_error import ErrorKind, UpstreamError
from tests.support.page import Page
from tests.support.profile import choose_size

WORDS = [" word", "**bold**", " and", ".\n\n", "- item\n", "\n```py\n", "x = 1\n", " `c`", "a "]
MUCH = "Some *words*.\n\n" * 2 * (WORK_A_TURN // 100)  # takes several turns of the event loop

Step = Callable[[LiveReply], object]


def text(region: str, word: str) -> Step:
    return lambda live: live.append(region, word)


def runs(live: LiveReply) -> None:
    live.write_call(0, "call_0", "now", "")
    live.show_run(0, ToolRun("call_0", "now", "{}", RunState.RUNNING))


def think(live: LiveReply) -> None:
    live.append("reasoning", "So")
    live.message.reasoning_duration = 2.0
    live.append("answer", "Well")


STEPS = st.one_of(
    st.builds(text, st.just("answer"), st.sampled_from(WORDS)),
    st.builds(
        text, st.sampled_from(["reasoning", "answer", "refusal"]), st.sampled_from([*WORDS, MUCH])
    ),
    st.sampled_from(
        [
            lambda live: live.write_call(0, "call_0", "now", '{"a"'),
            runs,
            lambda live: live.tell_of_retry(UpstreamError(ErrorKind.SERVER_ERROR), 1.0, 2),
            lambda live: live.begin_round(),
            lambda live: live.answer_was_reasoning("All of it."),
        ]
    ),
)
FLUSHED = st.tuples(STEPS, st.booleans())


def regions(page: Page) -> list[tuple[str, str]]:
    """Return the names and texts of the regions that have text."""
    return [
        (element.attributes["data-region"], element.text)
        for element in page.reply().walk()
        if "data-region" in element.attributes and element.text not in ("", "Thinking…")
    ]


@settings(max_examples=choose_size(20, 400))
@given(st.sampled_from([think, text("answer", "Well")]), st.lists(FLUSHED, max_size=16))
def test_applying_every_frame_gives_what_a_snapshot_draws(
    first: Step, steps: list[tuple[Step, bool]]
) -> None:
    """Some steps are followed by a flush."""
    message = Message(pk=UUID(int=7), role="assistant", ending=Message.STREAMING, model="m")
    live = LiveReply(message)
    template = f'<article data-reply="x" id="reply-{message.pk}"></article>'
    page = Page(template)
    page.swap(snapshot_fragment(live.view()))

    def check() -> None:
        snapshot_page = Page(template)
        snapshot_page.swap(snapshot_fragment(live.view()))
        assert regions(page) == regions(snapshot_page)

    for step, is_flushed in [(first, True), *steps, (LiveReply.finish, True)]:
        step(live)
        if is_flushed:
            page.swap(live.changes())
            check()
            while live.is_behind:
                page.swap(live.changes())
                check()


def test_a_tool_call_that_needs_approval_comes_after_the_whole_answer() -> None:
    live = LiveReply(Message(pk=UUID(int=7), role="assistant", ending=Message.STREAMING, model="m"))
    page = Page(f'<article data-reply="x" id="reply-{live.message.pk}"></article>')
    page.swap(snapshot_fragment(live.view()))
    live.append("answer", MUCH)
    live.write_call(0, "call_0", "now", "{}")
    live.show_run(0, ToolRun("call_0", "now", "{}", RunState.ASKING))
    page.swap(live.changes())
    assert [name for name, _ in regions(page)] == ["answer"]
    live.append("refusal", "No.")
    page.swap(live.changes())
    live.append("answer", "And on.")
    while live.is_behind:
        page.swap(live.changes())
    assert [name for name, _ in regions(page)] == ["answer", "tool-call", "refusal"]
