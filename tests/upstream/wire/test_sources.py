"""Sources are links that lead where they appear to."""

from tests.support.fake_upstream import (
    choice,
    frame,
)
from tests.upstream import decode_reply


def test_each_source_is_listed_once_with_its_title() -> None:
    urls = ["https://a.example/x", "http://b.example/"]
    cited = [{"title": "Title <b>", "url": urls[0], "date": None}, {"url": "https://c.example"}]
    annotation = {"type": "url_citation", "url_citation": {"url": urls[1], "title": "B"}}
    reply = decode_reply(
        *[frame({"citations": urls, "search_results": cited, "choices": []})] * 3,
        choice({"annotations": [annotation, annotation]}),
        frame({"usage": {"prompt_tokens": 1, "completion_tokens": 2, "num_sources_used": 4}}),
    )
    listed = [(source.url, source.title) for source in reply.sources.values()]
    assert listed == [(urls[0], "Title <b>"), (urls[1], "B"), ("https://c.example", "")]
    assert (reply.source_count, reply.left_out) == (4, {})


def test_unsafe_sources_are_left_out_and_their_number_is_limited() -> None:
    hostile = ["javascript:alert(1)", "data:text/html,x", "https://bank.example@evil.example/", 5]
    hostile += ["https://", "//a.example", "https://a.example/ b", "https://[", "h" * 3000, None]
    reply = decode_reply(frame({"citations": hostile}))
    assert (reply.sources, reply.left_out) == ({}, {"source": len(hostile)})
    many = [f"https://a.example/{number}" for number in range(500)]
    assert len(decode_reply(frame({"citations": many})).sources) == 100
