"""Turns the nodes of any export into messages that take turns: prompt, reply, prompt.

What a model wrote between two prompts, with the tools it called, becomes one reply. Siblings stay
siblings: if such a run of nodes forks, each of its ends becomes a reply with all that leads to it.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Flag, auto

from chatapp.transfer.export_format import NO_MESSAGE, MessageRecord
from chatapp.transfer.records import (
    RunState,
    SourceFeedback,
    SourceFile,
    SourceMessage,
    SourceRound,
    SourceToolRun,
)
from chatapp.transfer.values import EARLIEST
from chatapp.upstream.wire.reply import Ending
from chatapp.upstream.wire.sources import MAX_SOURCES, Source

MAX_NODES = 100_000
MAX_REPEATED = 20  # how often a node may be part of a reply, on average
REPEATED = "A message has the id of an earlier one, so it is left out."
NO_PARENT = "A message follows one that is missing, so it begins a branch of its own."
CIRCULAR = "A message follows one that follows it, so it begins a branch of its own."
DANGLING = "The branch that was open is not in the export, so the newest one is shown."


class TooComplex(ValueError):
    """Raised for trees that would become much larger. The message is a sentence."""


class Kind(Flag):
    HIDDEN = 0  # what follows it takes its place
    PROMPT = auto()
    REPLY = auto()


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    name: str
    arguments: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of the call with this id, or else of the last one of this name."""

    text: str
    name: str = ""
    id: str = ""
    state: RunState = "done"


@dataclass(frozen=True, slots=True)
class NextRound:
    """The start of the next request's round, even if nothing follows."""


Part = Text | Reasoning | ToolCall | ToolResult | NextRound


@dataclass(slots=True)
class Node:
    """A message of an export. Nodes are listed in the order of siblings."""

    id: str
    parent: str | None
    kind: Kind
    parts: list[Part] = field(default_factory=list)
    at: datetime | None = None
    model: str = ""
    ending: Ending = Ending.COMPLETE
    error: str = ""
    files: list[SourceFile] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    reasoning_seconds: float | None = None
    feedback: SourceFeedback | None = None
    is_continuation: bool = False
    own: MessageRecord = NO_MESSAGE
    damage: str = ""  # a sentence that says why it is left out, or at another place


@dataclass(frozen=True, slots=True)
class _Run:
    """The nodes of a reply up to one of them, last to first."""

    prompt: str
    node: Node
    before: "_Run | None" = None

    def nodes(self) -> list[Node]:
        nodes_backwards, run = [self.node], self.before
        while run:
            nodes_backwards.append(run.node)
            run = run.before
        return nodes_backwards[::-1]


_Predecessor = str | _Run | None  # what a node follows: a prompt, a run, or nothing


@dataclass(slots=True)
class Tree:
    """The messages of one chat, and the one that ends the branch to be shown."""

    messages: list[SourceMessage] = field(default_factory=list)
    active_leaf: str = ""
    notes: list[str] = field(default_factory=list)


def build_tree(nodes: Sequence[Node], current: str, left_out: Counter[str]) -> Tree:
    """Return the messages of these nodes; `current` is the node that was shown last.

    Links to nodes that are missing, and those that close a circle, are removed.
    Raises `TooComplex`.
    """
    if len(nodes) > MAX_NODES:
        raise TooComplex(f"It has more than {MAX_NODES:,} messages.")
    builder = _Builder(nodes, left_out)
    tree = Tree(builder.build())
    if tree.messages:
        if current and current not in builder.by_id:
            tree.notes.append(DANGLING)
        tree.active_leaf = builder.find_leaf(current)
    return tree


class _Builder:
    def __init__(self, nodes: Sequence[Node], left_out: Counter[str]) -> None:
        self.left_out = left_out
        self.by_id: dict[str, Node] = {}
        for node in nodes:
            if self.by_id.setdefault(node.id, node) is not node:
                node.damage = REPEATED
        self.children: dict[str | None, list[Node]] = {}
        self.followed_by: dict[str | None, Kind] = {}
        self.messages: dict[str, SourceMessage] = {}
        self.shown_as: dict[str, str] = {}  # the message of a node
        self.in_replies = 0

    def build(self) -> list[SourceMessage]:
        self._remove_wrong_links()
        for node in self.by_id.values():
            self.children.setdefault(node.parent, []).append(node)
        order = self._order()
        for node in reversed(order):
            kind = node.kind or self.followed_by.get(node.id, Kind.HIDDEN)
            self.followed_by[node.parent] = self.followed_by.get(node.parent, Kind.HIDDEN) | kind
        predecessors: dict[str | None, _Predecessor] = {None: None}
        for node in order:
            predecessors[node.id] = self._add_node(node, predecessors[node.parent])
        return list(self.messages.values())

    def _remove_wrong_links(self) -> None:
        rooted: set[str] = set()  # nodes that lead to a root
        for node in self.by_id.values():
            walked: dict[str, Node] = {}
            at: Node | None = node
            while at and at.id not in rooted:
                walked[at.id] = at
                if at.parent is not None and at.parent not in self.by_id:
                    at.parent = None
                    at.damage = at.damage or NO_PARENT
                elif at.parent in walked:
                    start = self.by_id[at.parent]
                    start.parent, start.damage = None, start.damage or CIRCULAR
                at = self.by_id[at.parent] if at.parent is not None else None
            rooted.update(walked)

    def _order(self) -> list[Node]:
        """Return the nodes with parents before children, depth first."""
        ordered: list[Node] = []
        stack = self.children.get(None, [])[::-1]
        while stack:
            ordered.append(node := stack.pop())
            stack.extend(reversed(self.children.get(node.id, [])))
        return ordered

    def _add_node(self, node: Node, predecessor: _Predecessor) -> _Predecessor:
        """Add the messages that end with this node; return the place of what follows it."""
        if node.kind is Kind.HIDDEN:
            return predecessor
        if node.kind is Kind.PROMPT:
            return self._add_prompt(node, predecessor)
        if isinstance(predecessor, _Run):
            run = _Run(predecessor.prompt, node, predecessor)
        else:
            prompt = (
                predecessor
                if predecessor is not None
                else self._placeholder(node, "prompt", None, "user")
            )
            run = _Run(prompt, node)
        follows = self.followed_by.get(node.id, Kind.HIDDEN)
        if Kind.PROMPT in follows or Kind.REPLY not in follows:
            self._add_reply(run)
        return run

    def _add_prompt(self, node: Node, predecessor: _Predecessor) -> str:
        if isinstance(predecessor, _Run):
            parent: str | None = predecessor.node.id
        else:
            parent = predecessor and self._placeholder(
                self.by_id[predecessor], "reply", predecessor, "assistant"
            )
        self._add(
            SourceMessage(
                source_id=node.id,
                parent=parent,
                role="user",
                created_at=node.at,
                rounds=(SourceRound(content=join_texts([node])),),
                files=_unique_files([node]),
                is_continuation=node.is_continuation,
            ),
            [node],
        )
        return node.id

    def _add_reply(self, run: _Run) -> None:
        nodes = run.nodes()
        self.in_replies += len(nodes)
        if self.in_replies > MAX_REPEATED * (len(self.by_id) + 1000):
            raise TooComplex("Its branches are too complex.")
        last = nodes[-1]
        rounds = build_rounds(nodes)
        sources = list({source.url: source for node in nodes for source in node.sources}.values())
        if len(sources) > MAX_SOURCES:
            self.left_out["source"] += len(sources) - MAX_SOURCES
        files = _unique_files(nodes)
        has_answer = files or any(
            part_round.content or part_round.tool_runs for part_round in rounds
        )
        is_without = last.ending is Ending.COMPLETE and not has_answer
        seconds = [node.reasoning_seconds for node in nodes if node.reasoning_seconds is not None]
        self._add(
            SourceMessage(
                source_id=last.id,
                parent=run.prompt,
                role="assistant",
                created_at=next((node.at for node in nodes if node.at), None),
                rounds=rounds,
                model=next((node.model for node in reversed(nodes) if node.model), ""),
                ending=Ending.NO_ANSWER if is_without else last.ending,
                error="\n\n".join(node.error for node in nodes if node.error),
                sources=tuple(sources[:MAX_SOURCES]),
                files=files,
                reasoning_seconds=sum(seconds) if seconds else None,
                feedback=next((node.feedback for node in reversed(nodes) if node.feedback), None),
                own=last.own,
            ),
            nodes,
        )

    def _placeholder(self, node: Node, what: str, parent: str | None, role: str) -> str:
        """Add an empty message next to a node if there is none yet; return its id."""
        name = f"{node.id}:{what}"
        while name in self.by_id:
            name += ":"
        if name not in self.messages:
            is_reply = role == "assistant"
            message = SourceMessage(
                source_id=name,
                parent=parent,
                role="assistant" if is_reply else "user",
                created_at=node.at,
                ending=Ending.NO_ANSWER if is_reply else None,
                is_placeholder=True,
            )
            self._add(message, [])
        return name

    def _add(self, message: SourceMessage, nodes: Sequence[Node]) -> None:
        self.messages[message.source_id] = message
        for node in nodes:
            self.shown_as.setdefault(node.id, message.source_id)

    def find_leaf(self, current: str) -> str:
        """Return the end of the branch through a node; the newest leaf if it isn't shown."""
        node = self.by_id.get(current)
        while node and node.id not in self.shown_as:
            node = self.by_id[node.parent] if node.parent is not None else None
        last_child = {message.parent: message.source_id for message in self.messages.values()}
        if node is None:
            return self._newest(last_child)
        leaf = self.shown_as[node.id]
        while leaf in last_child:
            leaf = last_child[leaf]
        return leaf

    def _newest(self, parents: dict[str | None, str]) -> str:
        leaves = [
            message for message in self.messages.values() if message.source_id not in parents
        ][::-1]
        return max(leaves, key=lambda message: message.created_at or EARLIEST).source_id


def join_texts(nodes: Sequence[Node]) -> str:
    """Return the texts of nodes as paragraphs, as they are."""
    texts = (part.text for node in nodes for part in node.parts if isinstance(part, Text))
    return "\n\n".join(text for text in texts if text.strip())


def _unique_files(nodes: Sequence[Node]) -> tuple[SourceFile, ...]:
    return tuple(dict.fromkeys(file for node in nodes for file in node.files))


@dataclass(slots=True)
class _Call:
    id: str
    name: str
    arguments: str
    results: list[str] = field(default_factory=list)
    state: RunState | None = None  # None until there is a result

    def build_tool_run(self) -> SourceToolRun:
        result = "\n\n".join(text for text in self.results if text)
        return SourceToolRun(self.id, self.name, self.arguments, result, self.state or "cancelled")


@dataclass(slots=True)
class _OpenRound:
    reasoning: list[str] = field(default_factory=list)
    content: list[str] = field(default_factory=list)
    calls: list[_Call] = field(default_factory=list)

    def build_round(self) -> SourceRound:
        texts = ("\n\n".join(self.reasoning), "\n\n".join(self.content))
        return SourceRound(*texts, tuple(call.build_tool_run() for call in self.calls))


def build_rounds(nodes: Sequence[Node]) -> tuple[SourceRound, ...]:
    """Return what the nodes of a reply say; each round but the last ends with tool calls."""
    rounds = [_OpenRound()]
    calls: list[_Call] = []
    for node in nodes:
        for part in node.parts:
            match part:
                case Text(text) | Reasoning(text):
                    if not text.strip():
                        continue
                    if rounds[-1].calls:
                        rounds.append(_OpenRound())
                    is_text = isinstance(part, Text)
                    (rounds[-1].content if is_text else rounds[-1].reasoning).append(text)
                case ToolCall(name, arguments, id):
                    calls.append(_Call(id or f"{node.id}:{len(calls)}", name, arguments))
                    rounds[-1].calls.append(calls[-1])
                case ToolResult():
                    call = _find_call(calls, part)
                    if call is None:
                        call = _Call(part.id or f"{node.id}:{len(calls)}", part.name, "")
                        calls.append(call)
                        rounds[-1].calls.append(call)
                    call.results.append(part.text)
                    call.state = part.state
                case NextRound():
                    rounds.append(_OpenRound())
    return tuple(open_round.build_round() for open_round in rounds)


def _find_call(calls: list[_Call], result: ToolResult) -> _Call | None:
    """Return the call that a result belongs to: by its id, or else the best guess."""
    latest = calls[: -MAX_GUESSES - 1 : -1]
    same = [call for call in latest if result.id and call.id == result.id]
    waiting = [call for call in latest if call.state is None]
    same_name = [call for call in waiting if call.name == result.name]
    if result.id:
        return next(iter([*same, *same_name]), None)
    answered_calls = [call for call in latest if call.name == result.name]
    return next(iter([*same_name, *waiting, *answered_calls]), None)


MAX_GUESSES = 200  # calls among which the one of a result is looked for
