"""What readers of a shared chat get of a reply's frames: named regions, and nothing else."""

from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatapp.models import Message
from chatapp.models.conversations.rounds import ToolRun
from chatapp.rendering.fragments import LiveReply, for_readers, shared_snapshot, snapshot_fragment
from tests.support.page import Page

ANSWERS = frozenset({"answer", "refusal"})
ALL = ANSWERS | {"reasoning", "tool-call"}
HOSTILE = '<template hx-swap-oob="append target:#messages">'


TEXTS = st.text(max_size=30).map("x{}".format)  # a region appears with its first visible text


def reply() -> LiveReply:
    return LiveReply(Message(pk=uuid4(), role="assistant", ending=Message.STREAMING, model="m"))


def page_of(live: LiveReply) -> Page:
    """Return a reader's page with the reply, before any text."""
    key = live.view().key
    return Page(f'<div id="messages"><article><div id="b{key}"></div></article></div>')


def test_regions_that_are_not_shown_are_left_out() -> None:
    live = reply()
    live.append("reasoning", "A secret. ")
    frames = [live.changes()]
    live.append("reasoning", "More of it. ")
    frames.append(live.changes())
    live.append("answer", "Blue ")
    frames.append(live.changes())
    live.append("answer", "is short.")
    frames.append(live.changes())
    heard = "".join(for_readers(frame, ANSWERS) for frame in frames)
    assert "secret" not in heard
    assert "More" not in heard
    assert "Blue" in heard
    assert "short." in heard
    everything = "".join(for_readers(frame, ALL) for frame in frames)
    assert "secret" in everything
    assert "More" in everything


def test_buttons_of_a_tool_call_are_never_sent() -> None:
    live = reply()
    live.write_call(0, "c1", "lookup", '{"q": "sky"}')
    live.show_run(0, ToolRun("c1", "lookup", '{"q": "sky"}', state="asking"))  # type: ignore[arg-type]
    live.finish()
    frame = live.changes()
    assert "hx-ws" in frame
    assert for_readers(frame, ALL) == ""
    snapshot = for_readers(shared_snapshot(live.view()), ALL)
    assert "lookup" in snapshot
    assert "hx-ws" not in snapshot
    assert "lookup" not in for_readers(shared_snapshot(live.view()), ANSWERS)


def test_frames_of_the_owners_page_are_left_out() -> None:
    live = reply()
    live.append("answer", "Blue")
    live.changes()
    for frame in (
        snapshot_fragment(live.view()),
        live.ended_fragment(),
        '<template hx-swap-oob="append target:#messages"><p>Another chat</p></template>',
        "<p>Loose</p>",
        HOSTILE,
        "",
    ):
        assert for_readers(frame, ALL) == ""


@pytest.mark.parametrize("text", [HOSTILE, "</template><p>x", "`</template>`", "a\n\n```\n" * 3])
def test_foreign_text_makes_no_swap_of_its_own(text: str) -> None:
    live = reply()
    page = page_of(live)
    for part in (text[:7], text[7:]):
        live.append("answer", part)
        page.swap(for_readers(live.changes(), ANSWERS))
    assert len(page.root.find_all("#messages > article")) == 1
    assert not page.root.find_all("template")


@given(
    st.lists(
        st.tuples(st.sampled_from(["answer", "reasoning", "refusal"]), TEXTS),
        max_size=12,
    )
)
def test_a_readers_page_ends_as_a_snapshot_draws_it(parts: list[tuple[str, str]]) -> None:
    live = reply()
    followed, joined = page_of(live), page_of(live)
    for region, text in parts:
        live.append(region, text)
        followed.swap(for_readers(live.changes(), ANSWERS))
    while live.is_behind:
        followed.swap(for_readers(live.changes(), ANSWERS))
    joined.swap(for_readers(shared_snapshot(live.view()), ANSWERS))
    [ours, others] = (page.root.find(id="messages") for page in (followed, joined))
    assert ours.html == others.html
    assert not followed.root.find_all(data_region="reasoning")
