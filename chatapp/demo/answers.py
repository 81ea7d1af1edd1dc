"""What the demo says: the messages of a conversation in, a script out; the same every time.

The last question is tried, in order, as the app's own for a title, a request to fail, to call a
tool, to show something, a greeting, and a question about the app. Everything else is told plainly
what this is.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from chatapp.demo.calling import answer_from, calls_endlessly, script_with_tools
from chatapp.demo.continuing import asks_to_continue, rest_of
from chatapp.demo.failures import FAILURES, Outcome, Passing, list_of_failures
from chatapp.demo.help_text import closest_sections
from chatapp.demo.requests import Function, Message
from chatapp.demo.script import OPENINGS, Script
from chatapp.demo.showpieces import ALIASES, SHOWPIECES, Showpiece
from chatapp.demo.titling import title_asked_for

# More than this of a question does not change what it is about.
READ_CHARACTERS = 2000

SIGNATURE = "*This is chatapp's built-in demo, not a language model.*"

ABOUT = """I am the demo that is built into chatapp. I am not a language model, so I cannot write \
your letter or settle an argument. What I can do is answer questions about this app, and show you \
how replies look.

**Ask about the app**

- How do I connect a gateway?
- How do I stop a reply?
- Which keyboard shortcuts are there?
- What do administrators see?
- How do I run this for my team?

**See what a reply can hold**

- `show me a table`
- `show me code`
- `show me math`
- `a long answer`
- `everything`
- `show me confidence`
- `moderation`
- `show me sources`
- `show me a picture`
- `refuse`

**See a tool being called**

- *What time is it?* calls a tool that tells the time
- `tools` lists the others I may call

**See what happens when something breaks**

- `fail` lists the failures I can act out"""

GREETING = """Hello, and welcome to chatapp.

I am its built-in demo, and I know my way around the app. Ask me *How do I connect a gateway?*, or \
send `everything` to see what a reply can hold. If you only want to look around, ask for `a long \
answer` and press Escape while it is being written."""

THANKS = "You are welcome. If there is anything else about the app, just ask."

FAILURE_LIST = f"""I can fail in these ways, so that you can see what the app makes of it. Send \
one of them as it stands.

{list_of_failures()}"""

NOTHING_LEFT = "That answer was complete, so there is nothing left to continue."
NOT_MINE = """I can only continue what I said myself, and the message before yours is not a piece \
of one of my answers. Ask again from the start, and I will do my best."""

ASKED_TO_FAIL = re.compile(r"(?:please )?fail(?:ures?)?\b[\s:]*(.*)")
FIRST_WORDS = {
    GREETING: {"hello", "hi", "hey", "hiya", "good morning", "good afternoon", "good evening"},
    THANKS: {"thanks", "thank you", "thank", "cheers"},
}
ASKING_TO_SHOW = {
    *("show", "give", "write", "make", "draw", "print", "display", "see", "want", "explain")
}
MOST_WORDS_OF_A_GREETING = 4
MOST_WORDS_OF_A_NAME = 3


def script_for(
    messages: Sequence[Message], tools: Sequence[Function] = (), *, reasons: bool
) -> Outcome:
    """What to say to the last of `messages`, or how to fail; `tools` are those that are offered.

    `reasons`: whether to think aloud first. Continuing an earlier answer needs no thought.
    """
    said: list[str] = []
    results: list[str] = []
    turns = [message for message in messages if message.role not in ("system", "developer")]
    while turns and (turns[-1].role != "user" or asks_to_continue(turns[-1].text)):
        turn = turns.pop()
        if turn.role in ("tool", "function"):
            results.insert(0, turn.text)
        elif turn.role == "assistant" and not turn.tool_calls:
            said.insert(0, turn.text)
    question = turns[-1].text[:READ_CHARACTERS] if turns else ""
    outcome = fresh_script(question, tools, results, reasons and not said)
    return continuation(outcome, said) if said else outcome


def continuation(outcome: Outcome, said: Sequence[str]) -> Script:
    """The rest of an answer of which the pieces in `said` have been given."""
    script = outcome.script if isinstance(outcome, Passing) else outcome
    answer = script.whole_answer if isinstance(script, Script) else ""
    rests = (rest_after(said, opening + answer) for opening in OPENINGS)
    rest = next((rest for rest in rests if rest is not None), None)
    if rest is None:
        return Script(signed(NOT_MINE))
    return Script(rest or signed(NOTHING_LEFT))


def rest_after(said: Sequence[str], answer: str) -> str | None:
    """What follows all of `said` in `answer`, or None if it does not begin so."""
    rest: str | None = answer
    for piece in said:
        rest = rest_of(rest, piece) if rest is not None else None
    return rest


def fresh_script(
    question: str, tools: Sequence[Function], results: Sequence[str], reasons: bool
) -> Outcome:
    """The answer to a question, for which the tools have given `results` so far."""
    if title := title_asked_for(question):
        return Script(title)
    plain = " ".join(question.lower().split()).rstrip(".!? ")
    if asked := ASKED_TO_FAIL.fullmatch(plain):
        failure = FAILURES.get(asked[1])
        return failure.outcome if failure else Script(signed(FAILURE_LIST))
    if results and not calls_endlessly(question):
        thought, script = "The results are here, so I'll quote them.", Script(answer_from(results))
    elif calling := script_with_tools(question, tools):
        thought, script = "This is about tools, so I look at those I was offered.", calling
    else:
        thought, script = thought_and_script(plain)
    return replace(
        script,
        answer=script.answer and signed(script.answer),
        reasoning=reasoning(question, thought) if reasons else "",
    )


def thought_and_script(plain: str) -> tuple[str, Script]:
    """What to think of a question and what to answer. `plain` is in lower case."""
    if piece := showpiece_for(plain):
        return f"This is a wish to see something. {piece.thought}", piece.script
    if courtesy := courtesy_for(plain):
        return "That is kind. A few friendly words are the right answer, and a hint.", Script(
            courtesy
        )
    if found := closest_sections(plain):
        section, *others = found
        thought = f'The help has a section that fits, "{section.title}", and I\'ll quote that.'
        titles = [section.title for section in others[:2]]
        return thought, Script(help_answer(section.title, section.body, titles))
    return "Nothing in the help fits, so I'll say plainly what I am and offer examples.", Script(
        ABOUT
    )


def showpiece_for(plain: str) -> Showpiece | None:
    """What to show, if the question asks to be shown something or is hardly more than its name."""
    words = re.findall(r"\w+", plain)
    if len(words) > MOST_WORDS_OF_A_NAME and ASKING_TO_SHOW.isdisjoint(words):
        return None
    named = (ALIASES.get(word, word) for word in words)
    return next((SHOWPIECES[name] for name in named if name in SHOWPIECES), None)


def courtesy_for(plain: str) -> str | None:
    words = re.findall(r"\w+", plain)
    if not 0 < len(words) <= MOST_WORDS_OF_A_GREETING:
        return None
    starts = {words[0], " ".join(words[:2])}
    return next((answer for answer, firsts in FIRST_WORDS.items() if starts & firsts), None)


def help_answer(title: str, body: str, others: Sequence[str]) -> str:
    related = " or ".join(f"*{other}*" for other in others)
    more = f"\n\nThe [help](/help/) also has something on {related}." if others else ""
    return f"### {title}\n\n{body}{more}"


def reasoning(question: str, thought: str) -> str:
    """Some 75 tokens of thinking aloud, a second and a half of it."""
    opening = " ".join(question.split()[:8])
    return f"""The question begins with "{opening}", so let me see. {thought} \
I am only the demo, so nothing is really thought through here; this part shows where a model's \
reasoning goes, and how it folds away when the answer begins. I'll keep to what is true of this \
app, and say at the end what I am."""


def signed(answer: str) -> str:
    return f"{answer}\n\n{SIGNATURE}"
