"""Foreign text in partials and frames: it is inside `hx-ignore`, and changes nothing else.

Each payload is everywhere at once: prompt, reasoning, answer, refusal, tool name, arguments and
result, title, model, an upstream's error, the words of a notice.
"""

import json
from dataclasses import asdict
from uuid import UUID

import pytest
from django.contrib.auth.models import Group
from django.template.loader import render_to_string
from turbohtml import Element, Node, Text

from chatapp.catalogue import Offer
from chatapp.chat.requests import ShownRequest
from chatapp.chat.settings_forms import SettingsForm
from chatapp.chat.sidebar import LIST
from chatapp.models import (
    Attachment,
    ChatSettings,
    ContextCut,
    Conversation,
    DeletionResult,
    FileContent,
    Limit,
    Message,
    ModelChoice,
    Preset,
    PresetFile,
    PresetVersion,
    Project,
    ReviewPolicy,
    StoredFile,
    ThreadPage,
    Upstream,
    Usage,
    User,
)
from chatapp.models.billing.limits import Measure, Period
from chatapp.models.billing.quota_usage import QuotaUsage, warning
from chatapp.models.conversations.messages.rounds import RunState, ToolRun
from chatapp.models.refusals import OverLimit
from chatapp.parameters.controls import Controls
from chatapp.rendering import fragments
from chatapp.rendering.fragments import LiveReply, ReplyView
from chatapp.rendering.fragments.environment import draw
from chatapp.rendering.fragments.replies import Waiting, waiting_fragment
from chatapp.rendering.fragments.tool_names import readable_name
from chatapp.rendering.markdown import block_html
from chatapp.tools import Tool
from chatapp.upstream.wire.errors.upstream_error import ErrorKind, UpstreamError
from chatapp.upstream.wire.model_list import ListedModel
from tests.security.judge import breaches_below, parse_foreign, skeleton
from tests.security.payloads import MARK, SETS
from tests.support.drawn import render_html
from tests.support.profile import choose_size

CONVERSATION, PROMPT, REPLY, PROJECT = (UUID(int=number) for number in (1, 2, 3, 4))
HARMLESS = f"harmless {MARK}"
REGIONS = ("reasoning", "answer", "refusal")


def draw_partials(text: str) -> str:
    """Return a page's partials with the text in every place, and the frames that bring them."""
    owner = User(username=text)
    project = Project(pk=PROJECT, user=owner, name=text, instructions=text)
    project.is_own, project.lets_add = False, True
    conversation = Conversation(pk=CONVERSATION, title=text, project=project, user=owner)
    prompt = Message(pk=PROMPT, role="user", content=text, conversation=conversation)
    reply = build_reply(text, conversation)
    upstream = Upstream(pk=1, name=text)
    cut = ContextCut(message=reply, summary=text, model=text, upstream=Upstream(name=text))
    view = ThreadPage(conversation, [prompt, reply], has_earlier=True, has_later=True, cut=cut)
    models = (ListedModel(text, text, 1000),)
    offers = [Offer(upstream, models), Offer(upstream, models), Offer(upstream, (), text)]
    return "".join(
        [
            fragments.thread_html(view, render_html),
            fragments.snapshot_fragment(ReplyView.of(reply, render_html)),
            fragments.composer_fragment(conversation, reply),
            fragments.sidebar_fragment(conversation, running=True),
            fragments.problem_fragment(text),
            fragments.problem_fragment(text, over_limit=OverLimit(text, None)),
            fragments.delay_fragment(REPLY, text),
            fragments.title_fragment(conversation),
            fragments.settings_fragment(build_settings(text, conversation), may_choose=True),
            fragments.emptied_fragment(CONVERSATION, text, ReviewPolicy(scope="all")),
            waiting_fragment(REPLY, Waiting(text)),
            fragments.deleted_fragment(DeletionResult(conversation, prompt, 1), REPLY),
            draw("chat/_main.html", main(text, conversation, reply, offers)),
            draw(
                "chat/_conversation_lists.html",
                list_context(conversation) | {"projects": [project]},
            ),
            draw("chat/_project_about.html", about(project)),
            draw("chat/_project_others.html", about(project) | {"others": [conversation]}),
            draw("chat/_outline.html", outline(text, conversation)),
            draw("chat/_settings.html", settings(text, conversation)),
            draw("chat/_request.html", {"shown": requests(text)}),
            draw("chat/_confidence.html", {"tokens": [{"text": text, "title": text, "band": 1}]}),
            fragments.review_html(
                [prompt, reply], render_html, {reply.pk: [text]}, {reply.pk: cut}
            ),
            fragments.summary_progress_fragment(CONVERSATION, text, 3),
            fragments.summary_ended_fragment(CONVERSATION, text),
        ]
    )


def about(project: Project | None) -> dict[str, object]:
    flags = ("is_own", "is_shared", "lets_add", "is_named", "lacks_preset")
    context: dict[str, object] = {"project": project, "csrf_input": ""}
    return context | {"about_project": dict.fromkeys(flags, True), "last": None}


def main(
    text: str, conversation: Conversation, head: Message, offers: list[Offer]
) -> dict[str, object]:
    return {
        "conversation": conversation,
        "project": conversation.project,
        "csrf_input": "",
        "about_project": about(conversation.project)["about_project"],
        "filed": {
            **list_context(conversation),
            **about(conversation.project),
            "others": [conversation],
        },
        "preset": Preset(name=text, description=text),
        "settings": ChatSettings(parameters={"reasoning_effort": text}),
        "may_choose": True,
        "has_tool_servers": True,
        "controls": Controls((text,)),
        "efforts": (),
        "presets": [Preset(name=text, description=text)],
        "presets_to_choose": [Preset(name=text)],
        "head": head,
        "offers": offers,
        "awaits_models": False,
        "chosen_model": "",
        "at": None,
        "is_long": True,
        "limit_warning": warning([QuotaUsage(shared_limit(text), "all", 90, 0, 0, None)]),
        "attachments": [Attachment(name=text, size=9, state="ready")],
        "used_tokens": 0,
        "meter_figures": json.dumps({text: [1, None]}),
        "preset_tokens": 1,
        "preset_has_images": True,
        "thread": "",
        "suggestions": (text,),
        "first_steps": ("gateway", "people"),
        "policy": ReviewPolicy(scope="flagged"),
        "notice": text,
        "says_closing_stops": True,
        "can_choose_closing": True,
        "told": (),
        "prompt_id": PROMPT,
    }


def shared_limit(text: str) -> Limit:
    return Limit(measure=Measure.TOKENS, period=Period.DAY, cap=100, group=Group(name=text))


def list_context(conversation: Conversation) -> dict[str, object]:
    vars(conversation)["is_running"] = True
    row = fragments.conversation_row(conversation, is_running=True)
    rows = {"pinned": [row], "conversations": [(row, "May")]}
    return {
        **rows,
        "newer": None,
        "older": None,
        "has_today": True,
        "folder": LIST,
        "in_project": "",
    }


def settings(text: str, conversation: Conversation) -> dict[str, object]:
    form = SettingsForm.of(text, {"stop": [text], "extra": {text: text}})
    context = {"conversation": conversation, "form": form, "composer": False, "is_saved": True}
    more = {"presets": [], "settings": ChatSettings(), "may_change": True, "changes": [text]}
    own = {"models": {"": "All models", f"1/{text}": text}, "shown": f"1/{text}", "draft": "signed"}
    more |= own | {"meter_figures": json.dumps({f"1/{text}": [1, None]}), "is_unsaved": True}
    more |= {"preset_tokens": 1, "preset_has_images": True}
    more |= {"allowed_tools": {text: readable_name(text, text)}}
    more |= {"files": [PresetFile(name=text, file=FileContent(file=StoredFile()).file)]}
    return {**context, **more, "csrf_input": "", "has_memory": True}


def requests(text: str) -> list[tuple[ShownRequest, str]]:
    model = ModelChoice(1, text)
    return [(ShownRequest(model, text), "/"), (ShownRequest(model, problem=text), "/")]


def build_settings(text: str, conversation: Conversation) -> ChatSettings:
    version = PresetVersion(target=Preset(name=text))
    return ChatSettings(conversation=conversation, preset_version=version)


def outline(text: str, conversation: Conversation) -> dict[str, object]:
    prompts = [(PROMPT, text)]
    places = {"first": 1, "total": 3, "page": 2, "last": 3}
    return {"conversation": conversation, "prompts": prompts, **places}


def build_reply(text: str, conversation: Conversation) -> Message:
    run = ToolRun(text, text, text, RunState.ASKING, text)
    error = asdict(UpstreamError(ErrorKind.BAD_REQUEST, text, 400))
    moderation = {"input": {"results": [{"categories": {text: True}}]}}
    reply = Message(
        pk=REPLY,
        role="assistant",
        conversation=conversation,
        reasoning=text,
        content=text,
        refusal=text,
        tool_runs=[run.__dict__],
        ending="failed",
        error=error,
        model=text,
        finish_reason=text,
        response_id=text,
        service_tier=text,
        system_fingerprint=text,
        moderation=moderation,
        is_flagged=True,
        extras_record={
            "sources": [["https://a.example/", text], ["https://b.example/", ""]],
            "left_out": {text: 2},
        },
    )
    reply.siblings = [reply]
    Usage(message=reply, provenance="unknown")
    return reply


def stream_reply(text: str) -> str:
    """Return the frames of a reply in which every part arrives in two pieces."""
    conversation = Conversation(pk=CONVERSATION, title="A title")
    message = Message(
        pk=REPLY, role="assistant", ending="streaming", model="m", conversation=conversation
    )
    live, sent = LiveReply(message), ""
    half = len(text) // 2
    for piece in (text[:half], text[half:]):
        for region in REGIONS:
            live.append(region, piece)
        live.write_call(0, "call", text, piece)
        sent += live.changes()
    live.finish()
    sent += live.changes()
    while live.is_behind:
        sent += live.changes()
    while live.has_jobs:
        of, jobs = live.jobs()
        sent += live.apply_results(
            of, jobs, [block_html(job.block, job.definitions) for job in jobs]
        )
    return sent


def tags_around_mark(root: Element) -> set[str]:
    """Return the tags of elements outside foreign text whose own text contains the mark."""
    tags: set[str] = set()

    def walk(node: Node, tag: str) -> None:
        for child in node.children:
            if isinstance(child, Text) and MARK in child.data:
                tags.add(tag)
            elif isinstance(child, Element):
                if "hx-ignore" not in child.attrs:
                    walk(child, child.tag)
            else:  # a template's content
                walk(child, tag)

    walk(root, root.tag)
    return tags


@pytest.fixture(scope="module")
def harmless() -> list[str]:
    return skeleton(parse_foreign(draw_partials(HARMLESS)))


@pytest.mark.parametrize("name", SETS)
def test_a_payload_anywhere_leaves_the_page_structure_unchanged(
    name: str, harmless: list[str]
) -> None:
    for payload in SETS[name][:: choose_size(5, 1)]:
        root = parse_foreign(draw_partials(payload))
        assert breaches_below(root, "hx-ignore") == [], payload
        assert skeleton(root) == harmless, payload


def test_foreign_text_appears_only_inside_hx_ignore() -> None:
    assert tags_around_mark(parse_foreign(draw_partials(HARMLESS))) <= {"title", "textarea"}


@pytest.mark.parametrize("name", SETS)
def test_a_frame_consists_only_of_templates_with_their_swaps(name: str) -> None:
    for payload in SETS[name][:: choose_size(5, 1)]:
        root = parse_foreign(stream_reply(payload))
        assert breaches_below(root, "hx-ignore") == [], payload
        frames_sent = list(root.children)
        assert {frame.tag for frame in frames_sent if isinstance(frame, Element)} == {"template"}
        assert root.select("[hx-swap-oob]") == frames_sent, payload


def test_what_a_tool_server_says_is_inside_hx_ignore() -> None:
    tool = Tool(MARK, MARK, "files", MARK, {}, asks_first=True, title=MARK)
    for context in ({"problem": "", "offered": [tool], "cost": 1}, {"problem": MARK}):
        html = render_to_string("tool_servers/_tools.html", context)
        assert MARK in html
        assert tags_around_mark(parse_foreign(html)) == set()
