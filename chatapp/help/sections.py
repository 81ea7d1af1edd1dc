"""The sections of the help, and those that fit a question. Each file is read once."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.utils.text import slugify

# Words that people use to ask for a section, besides those in its heading.
KEYWORDS = {
    "Writing and the keyboard": """
        shortcut shortcuts hotkey key keys enter shift newline line send focus press
        compose reasoning thinking thought thoughts
    """,
    "Attaching files": """
        attach attached attachment attachments file files upload uploads document documents pdf
        photo photos image images scan word excel powerpoint spreadsheet slides csv paste drop
    """,
    "The context of a model": """
        context window length limit percent meter summary summarise summarize summaries
        shorten oldest leave left out grey gray full larger
    """,
    "Saved prompts": """
        save saved library template templates slash command commands blank blanks placeholder
        placeholders variable variables snippet reuse share shared sharing import webui
    """,
    "Presets": """
        preset assistant assistants agent agents persona gpt gpts custom role start
    """,
    "Sharing a chat": """
        share shared sharing link links public read only snapshot live colleague revoke expiry
    """,
    "Settings of a chat": """
        settings setting system instructions parameter parameters temperature seed schema json
        request format top_p effort sliders panel
    """,
    "Stopping a reply": """
        stop cancel abort interrupt escape esc close closing tab grace disconnect connection lost
        drop dropped continue leave halt finish finished
    """,
    "Choices of a reply": """
        choice choices another alternative alternatives version versions retry stepper several
        siblings
    """,
    "Editing a prompt": """
        edit edits edited editing correct mistake typo pencil draft fork delete undo
    """,
    "Tools in a reply": """
        tool tools mcp call calls called calling function functions allow deny permission clock
        arguments
    """,
    "What appears below an answer": """
        source sources citation citations cited picture pictures image images sound spoken audio
        transcript
    """,
    "How sure the model was": """
        sure confidence confident probability probabilities likely logprobs logprob uncertain
        certainty
    """,
    "Choosing a model": """
        picker pick switch menu vision abilities another
    """,
    "Your chats": """
        sidebar history chat chats saved reload refresh switch move restart pin archive trash rename
        delete restore undo project projects member members share shared folder folders instructions
        export select unread markdown pdf print html csv
    """,
    "Importing chats": """
        import imports importing export bring migrate move switch chatgpt openai claude anthropic
        webui librechat zip archive history upload old
    """,
    "Searching": """
        search find found look lookup filter filters palette phrase words project before after
    """,
    "Preferences and your account": """
        theme dark light mode colour color appearance font size larger bigger text menu initials
        figures setting settings preference sign out change password
        second factor device devices notify notifications
    """,
    "What a reply cost": """
        usage costs price token tokens money pay billing bill reported estimated unknown cached
        spend spent expensive
    """,
    "Privacy": """
        private data gdpr secret stored store tracking tracker trackers confidential safe
        secure security leave leaves
    """,
    "When something goes wrong": """
        error errors problem trouble broken fails failed failure retry retries tries again
        unreachable 401 403 404 408 409 429 500 502 503 529 timeout wrong work working rate limit
        quota fallback fallbacks
    """,
    "Connecting a provider": """
        connect gateway gateways upstream upstreams provider model models openai api endpoint
        litellm vllm ollama llama anthropic claude gpt gemini real base url picker add configure set
        dialect dialects parameters temperature OPENAI_BASE_URL OPENAI_API_KEY
    """,
    "Accounts and passwords": """
        login log sign signin signup user users people person colleague colleagues invite add
        account password setup link superuser register forgot
    """,
    "Review": """
        admin administrator administrators audit supervise moderation read search reviews reviewing
        inspect see conversations
    """,
    "Running it for a team": """
        deploy deployment deploying production server serve host hosting install nginx caddy proxy
        reverse https docker postgres postgresql redis sqlite database scale process processes
        settings configuration environment variable variables port daphne
        SECRET_KEY DATABASE_URL REDIS_URL ALLOWED_HOSTS CSRF_TRUSTED_ORIGINS
        CHATAPP_CLOSE_GRACE CHATAPP_DROP_GRACE
    """,
    "Data and backups": """
        backup back backing restore copy folder directory disk DATA_DIR var export
    """,
    "What the demo can show": """
        demo example examples try markdown rendering render table tables code math formula formulas
        reasoner plain capable aivene aigateway opentoken think tags replay record
        recording recordings
    """,
}

# Words that say nothing about the subject of a question.
SMALL_WORDS = """
    a about an and are as at be by can could do does for from get has have how i if in is it its me
    my of on or our please should so tell that the their them there they this to up us was we what
    when where which who why will with would you your something goes chatapp app
"""

WORD = re.compile(r"\w+")
STOP_WORDS = frozenset(WORD.findall(SMALL_WORDS))


@dataclass(frozen=True, slots=True)
class Section:
    """One `##` section of the help. `body` is Markdown without the heading."""

    title: str
    body: str

    @property
    def slug(self) -> str:
        return slugify(self.title)

    @property
    def words(self) -> frozenset[str]:
        return frozenset(extract_words(f"{self.title} {KEYWORDS[self.title]}"))


@dataclass(frozen=True, slots=True)
class HelpPage:
    """A page of the help: an introduction in Markdown, and its sections."""

    introduction: str
    sections: tuple[Section, ...]


@cache
def for_everyone() -> HelpPage:
    return _read_page("everyone.md")


@cache
def for_administrators() -> HelpPage:
    return _read_page("administrators.md")


def _read_page(name: str) -> HelpPage:
    """Read a file with a `#` title, an introduction, and `##` sections."""
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    beginning, *parts = re.split(r"^## ", text, flags=re.MULTILINE)
    titled_bodies = (part.partition("\n") for part in parts)
    return HelpPage(
        beginning.partition("\n")[2].strip(),
        tuple(Section(title.strip(), body.strip()) for title, _, body in titled_bodies),
    )


@cache
def sections() -> tuple[Section, ...]:
    return (*for_everyone().sections, *for_administrators().sections)


def closest_sections(question: str) -> list[Section]:
    """Return the sections that share a word with the question, best match first.

    A word counts less if more sections have it, so `OPENAI_API_KEY` outweighs `add`.
    """
    question_words = set(extract_words(question))
    scores = {
        section: sum(1 / section_counts()[word] for word in question_words & section.words)
        for section in sections()
    }
    matching = [section for section in sections() if scores[section]]
    return sorted(matching, key=lambda section: -scores[section])


@cache
def section_counts() -> Counter[str]:
    """Return the number of sections that each word occurs in."""
    return Counter(word for section in sections() for word in section.words)


def extract_words(text: str) -> Iterable[str]:
    """Return the meaningful words of a text, in lower case."""
    return (word for word in WORD.findall(text.lower()) if word not in STOP_WORDS)
