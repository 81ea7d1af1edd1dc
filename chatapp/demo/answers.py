"""Choose the demo's answer: a conversation's messages in, a script out. Deterministic.

The last question is matched, in this order, as the app's request for a title, and as a wish to see
a failure or a tool call, a question with files, a wish to see a showpiece, a greeting, and a
question about the app. Any other question is answered with what the demo is.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from chatapp.demo.calling import answer_from, calls_endlessly, script_with_tools
from chatapp.demo.continuing import asks_to_continue, find_rest
from chatapp.demo.failures import (
    FAILURES,
    ModelFailure,
    Outcome,
    ParameterRefusal,
    TransientFailure,
    list_of_failures,
)
from chatapp.demo.files import answer_about_files
from chatapp.demo.requests import Function, Message
from chatapp.demo.script import OPENINGS, Script
from chatapp.demo.showpieces import ALIASES, SHOWPIECES, Showpiece
from chatapp.demo.titling import make_title
from chatapp.help.sections import closest_sections

# The rest of a longer question is ignored.
READ_CHARACTERS = 2000

SIGNATURE = "*This is chatapp's built-in demo, not a language model.*"

ABOUT = """I am the demo that is built into chatapp. I am not a language model, so I can't write \
your letter or settle an argument. What I can do is answer questions about this app and show you \
what replies can look like.

**Ask about the app**

- How do I connect a provider?
- How do I stop a reply?
- Which keyboard shortcuts are there?
- What do administrators see?
- How do I run this for my team?

**See what a reply can contain**

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
- `tools` lists the others I can call

**See what happens when something breaks**

- `fail` lists the failures I can simulate"""

GREETING = """Hello, and welcome to chatapp.

I am its built-in demo, and I know my way around the app. Ask me *How do I connect a provider?*, \
or send `everything` to see what a reply can contain. If you only want to look around, ask for `a \
long answer` and press Escape while it is being written."""

THANKS = "You are welcome. If there is anything else about the app, just ask."

FAILURE_LIST = f"""I can fail in these ways, so that you can see how the app handles each. Send \
one of these lines.

{list_of_failures()}"""

NOTHING_LEFT = "That answer was complete, so there is nothing left to continue."
NOT_MINE = """I can only continue what I said myself, and the message before yours is not part \
of one of my answers. Ask again from the start, and I will do my best."""

ASKED_TO_FAIL = re.compile(r"(?:please )?fail(?:ures?)?\b[\s:]*(.*)")
FIRST_WORDS = {
    GREETING: {"hello", "hi", "hey", "hiya", "good morning", "good afternoon", "good evening"},
    THANKS: {"thanks", "thank you", "thank", "cheers"},
}
ASKING_TO_SHOW = {
    *("show", "give", "write", "make", "draw", "print", "display", "see", "want", "explain")
}
MAX_WORDS_OF_GREETING = 4
MAX_WORDS_OF_NAME = 3


def script_for(
    messages: Sequence[Message], tools: Sequence[Function] = (), *, reasons: bool
) -> Outcome:
    """Return the answer to the last of `messages`, or the failure that it asks for.

    `tools` are the tools that the request offers. With `reasons`, the script has reasoning first,
    except when it continues an earlier answer.
    """
    pieces: list[str] = []
    results: list[str] = []
    turns = [message for message in messages if message.role not in ("system", "developer")]
    while turns and (turns[-1].role != "user" or asks_to_continue(turns[-1].text)):
        turn = turns.pop()
        if turn.role in ("tool", "function"):
            results.insert(0, turn.text)
        elif turn.role == "assistant" and not turn.tool_calls:
            pieces.insert(0, turn.text)
    last_message = turns[-1] if turns else Message("user")
    outcome = fresh_script(last_message, tools, results, reasons and not pieces)
    return continue_answer(outcome, pieces) if pieces else outcome


def continue_answer(outcome: Outcome, pieces: Sequence[str]) -> Script:
    """Return the rest of an answer after these pieces of it."""
    if isinstance(outcome, TransientFailure | ParameterRefusal | ModelFailure):
        outcome = outcome.script
    answer = outcome.whole_answer if isinstance(outcome, Script) else ""
    remainders = (find_rest_after(pieces, opening + answer) for opening in OPENINGS)
    remainder = next((rest for rest in remainders if rest is not None), None)
    if remainder is None:
        return Script(sign_answer(NOT_MINE))
    return Script(remainder or sign_answer(NOTHING_LEFT))


def find_rest_after(pieces: Sequence[str], answer: str) -> str | None:
    """Return what follows the pieces in `answer`, or None if it does not begin with them."""
    remainder: str | None = answer
    for piece in pieces:
        remainder = find_rest(remainder, piece) if remainder is not None else None
    return remainder


def fresh_script(
    message: Message, tools: Sequence[Function], results: Sequence[str], reasons: bool
) -> Outcome:
    """Return the answer to a question, given the tool results so far."""
    question = message.question[:READ_CHARACTERS]
    if title := make_title(question):
        return Script(title)
    plain = " ".join(question.lower().split()).rstrip(".!? ")
    if wish := ASKED_TO_FAIL.fullmatch(plain):
        failure = FAILURES.get(wish[1])
        return failure.outcome if failure else Script(sign_answer(FAILURE_LIST))
    if results and not calls_endlessly(question):
        thought, script = "The results are here, so I'll quote them.", Script(answer_from(results))
    elif calling := script_with_tools(question, tools):
        thought, script = "This is about tools, so I'll look at the ones I was offered.", calling
    elif files := answer_about_files(message):
        thought, script = "There are files with this question, so I'll list them.", Script(files)
    else:
        thought, script = thought_and_script(plain)
    return replace(
        script,
        answer=script.answer and sign_answer(script.answer),
        reasoning=reasoning(question, thought) if reasons else "",
    )


def thought_and_script(plain: str) -> tuple[str, Script]:
    """Return the reasoning and the answer for a question, `plain`, in lower case."""
    if piece := showpiece_for(plain):
        return f"The user wants to see something. {piece.thought}", piece.script
    if courtesy := courtesy_for(plain):
        return "That is kind. A few friendly words and a hint are the right answer.", Script(
            courtesy
        )
    if sections := closest_sections(plain):
        section, *others = sections
        thought = f'The help has a section that fits, "{section.title}", and I\'ll quote that.'
        titles = [section.title for section in others[:2]]
        return thought, Script(help_answer(section.title, section.body, titles))
    return "Nothing in the help fits, so I'll say what I am and offer examples.", Script(ABOUT)


def showpiece_for(plain: str) -> Showpiece | None:
    """Return the showpiece that a question names, if it is a wish or little more than the name."""
    words = re.findall(r"\w+", plain)
    if len(words) > MAX_WORDS_OF_NAME and ASKING_TO_SHOW.isdisjoint(words):
        return None
    named = (ALIASES.get(word, word) for word in words)
    return next((SHOWPIECES[name] for name in named if name in SHOWPIECES), None)


def courtesy_for(plain: str) -> str | None:
    words = re.findall(r"\w+", plain)
    if not 0 < len(words) <= MAX_WORDS_OF_GREETING:
        return None
    starts = {words[0], " ".join(words[:2])}
    return next((answer for answer, firsts in FIRST_WORDS.items() if starts & firsts), None)


def help_answer(title: str, body: str, others: Sequence[str]) -> str:
    related = " or ".join(f"*{other}*" for other in others)
    more = f"\n\nThe [help](/help/) also has something on {related}." if others else ""
    return f"### {title}\n\n{body}{more}"


def reasoning(question: str, thought: str) -> str:
    """Return about 75 tokens of reasoning: a second and a half at 50 tokens/s."""
    opening = " ".join(question.split()[:8])
    return f"""The question begins with "{opening}", so let me see. {thought} \
I am only the demo, so there is no real thinking here; this part shows where a model's \
reasoning appears, and how it folds away when the answer begins. I'll stick to what is true of \
this app, and say at the end what I am."""


def sign_answer(answer: str) -> str:
    return f"{answer}\n\n{SIGNATURE}"
