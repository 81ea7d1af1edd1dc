"""The choice of the script that answers a question."""

import re

import pytest

from chatapp.demo.answers import ABOUT, script_for
from chatapp.demo.failures import FAILURES
from chatapp.demo.requests import Message
from chatapp.demo.script import Script
from chatapp.demo.showpieces import CODE, MATH, SHOWPIECES, TABLE
from chatapp.demo.suggestions import SUGGESTIONS
from chatapp.demo.tokens import split_tokens
from chatapp.help.sections import KEYWORDS, sections
from chatapp.realtime.titling.wording import build_messages

CONTINUE = "Continue where you stopped."


def test_each_suggestion_of_the_empty_page_has_a_fitting_answer() -> None:
    for suggestion, fitting in zip(SUGGESTIONS, (ABOUT, TABLE, CODE, MATH), strict=True):
        assert answer(suggestion).answer.startswith(fitting[:500]), suggestion


def answer(*texts: str, reasons: bool = False) -> Script:
    """Return the script for a conversation of user and assistant in turn."""
    messages = [
        Message("assistant" if index % 2 else "user", text) for index, text in enumerate(texts)
    ]
    script = script_for(messages, reasons=reasons)
    assert isinstance(script, Script)
    return script


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("How do I connect a provider?", "Connecting a provider"),
        ("where do I put my OpenAI API key?", "Connecting a provider"),
        ("OPENAI_BASE_URL", "Connecting a provider"),
        ("use ollama", "Connecting a provider"),
        ("How do I stop a reply?", "Stopping a reply"),
        ("how do I switch to another model?", "Choosing a model"),
        ("What happens when I close the tab?", "Stopping a reply"),
        ("what is CHATAPP_DROP_GRACE", "Running it for a team"),
        ("Which keyboard shortcuts are there?", "Writing and the keyboard"),
        ("how do I get a new line", "Writing and the keyboard"),
        ("Does a reload lose my chat?", "Your chats"),
        ("What do administrators see?", "Review"),
        ("Can my boss read my conversations?", "Review"),
        ("Is my data private?", "Privacy"),
        ("How do I run this for my team?", "Running it for a team"),
        ("how to deploy behind nginx", "Running it for a team"),
        ("DATABASE_URL", "Running it for a team"),
        ("How do I invite a colleague?", "Accounts and passwords"),
        ("change my password", "Preferences and your account"),
        ("What does estimated usage mean?", "What a reply cost"),
        ("how much did this reply cost?", "What a reply cost"),
        ("how do I back up?", "Data and backups"),
        ("I get a 429 error", "When something goes wrong"),
        ("How do I step through the choices?", "Choices of a reply"),
        ("why am I asked to allow a tool?", "Tools in a reply"),
        ("what are MCP servers for", "Tools in a reply"),
        ("where are the sources of an answer?", "What appears below an answer"),
        ("How confident is the model?", "How sure the model was"),
        ("does it try again after a 503?", "When something goes wrong"),
        ("which dialect do I choose?", "Connecting a provider"),
        ("how do I replay a recording?", "What the demo can show"),
        ("What can the demo show?", "What the demo can show"),
    ],
)
def test_a_question_about_the_app_is_answered_from_the_help(question: str, title: str) -> None:
    [section] = [section for section in sections() if section.title == title]
    text = answer(question).answer

    assert text.startswith(f"### {title}\n\n{section.body}\n\n")


def test_every_section_of_the_help_can_be_asked_for() -> None:
    assert list(KEYWORDS) == [section.title for section in sections()]
    for section in sections():
        assert answer(section.title).answer.startswith(f"### {section.title}\n")


@pytest.mark.parametrize(
    "question",
    [
        "what can you do?",
        "What is the capital of France?",
        "write me a poem about the sea",
        "",
        "?",
    ],
)
def test_other_questions_are_answered_with_what_the_demo_is(question: str) -> None:
    text = answer(question).answer

    assert "I am not a language model" in text
    assert "- How do I connect a provider?" in text


def test_every_offered_example_works() -> None:
    about = answer("who are you").answer
    examples = re.findall(r"^- `(.*)`$", about, re.MULTILINE)
    questions = re.findall(r"^- (.*\?)$", about, re.MULTILINE)

    assert len(examples) == len(SHOWPIECES)
    assert len({answer(example).whole_answer for example in examples}) == len(examples)
    for example in (*examples, *questions):
        assert answer(example).answer != about


@pytest.mark.parametrize("greeting", ["hello", "Hi!", "Good morning.", "hey there"])
def test_a_greeting_is_answered_kindly(greeting: str) -> None:
    assert answer(greeting).answer.startswith("Hello, and welcome")


def test_a_greeting_before_a_question_does_not_hide_the_question() -> None:
    text = answer("Hello, how do I connect a provider?").answer

    assert text.startswith("### Connecting a provider")


def test_thanks_are_answered_kindly() -> None:
    assert answer("Thank you!").answer.startswith("You are welcome")


@pytest.mark.parametrize(
    ("wish", "name"),
    [
        ("table", "table"),
        ("show me a table", "table"),
        ("Show me some code", "code"),
        ("please write a bit of Python for me", "code"),
        ("math", "math"),
        ("a long answer", "long"),
        ("everything", "everything"),
    ],
)
def test_a_showpiece_is_shown_on_request(wish: str, name: str) -> None:
    assert answer(wish).answer.startswith(SHOWPIECES[name].script.answer)


def test_the_long_answer_is_long_and_varied() -> None:
    article = answer("a long answer").answer

    assert len(article.split()) >= 1500
    assert len(re.findall(r"^## ", article, re.MULTILINE)) >= 6
    languages = set(re.findall(r"^```(\w+)$", article, re.MULTILINE))
    assert {"python", "javascript", "sql", "go", "sh"} <= languages
    for mark in ("\n> ", "\n- ", "\n1. ", "\n|---", "\n$$"):
        assert mark in article


@pytest.mark.parametrize("text", [piece.script.answer for piece in SHOWPIECES.values()])
def test_every_code_fence_is_closed(text: str) -> None:
    assert len(re.findall(r"^```", text, re.MULTILINE)) % 2 == 0


@pytest.mark.parametrize("wish", ["fail", "Fail!", "fail: somehow", "failures"])
def test_asking_to_fail_lists_the_failures(wish: str) -> None:
    text = answer(wish).answer

    assert re.findall(r"^- `fail: (.*)`:", text, re.MULTILINE) == list(FAILURES)


@pytest.mark.parametrize(
    "prompt",
    ["hello", "thanks", "table", "everything", "a long answer", "fail", "fail: length", "x"],
)
def test_every_reply_says_that_it_is_a_demo(prompt: str) -> None:
    assert "demo" in answer(prompt).answer
    assert answer(prompt).whole_answer.endswith(
        "*This is chatapp's built-in demo, not a language model.*"
    )


def test_reasoning_is_about_the_question() -> None:
    thought = answer("How do I connect a provider?", reasons=True).reasoning

    assert "How do I connect a provider?" in thought
    assert "Connecting a provider" in thought


def test_the_same_question_has_the_same_answer() -> None:
    assert answer("everything", reasons=True) == answer("everything", reasons=True)


@pytest.mark.parametrize("prompt", ["a long answer", "How do I stop a reply?", "fail: length"])
def test_an_answer_can_be_continued_from_any_place(prompt: str) -> None:
    whole = answer(prompt).whole_answer
    cuts = range(1, len(whole), max(1, len(whole) // 40))
    outside_code = [cut for cut in cuts if whole[:cut].count("\n```") % 2 == 0]

    assert len(outside_code) > 10
    for cut in outside_code:
        beginning = whole[:cut].rstrip()
        assert beginning + answer(prompt, beginning, CONTINUE).answer == whole


def test_the_continue_buttons_prompt_is_understood() -> None:
    from_button = (
        "Continue where you stopped. Write only what follows, from the very next character on and "
        "in the same language; repeat nothing, and do not say that you continue."
    )
    whole = answer("a long answer").answer
    assert whole[:100] + answer("a long answer", whole[:100], from_button).answer == whole


def test_continuing_twice_continues_after_the_second_piece() -> None:
    whole = answer("a long answer").answer
    first, second = whole[:500], whole[500:900].rstrip()

    assert (
        answer("a long answer", first, CONTINUE, second, "go on").answer
        == (whole[500 + len(second) :])
    )


def test_continuing_inside_a_code_block_reopens_it() -> None:
    whole = answer("show me code").answer
    beginning, left = whole.split("    return Counter")

    assert (
        answer("show me code", beginning, CONTINUE).answer == f"```python\n    return Counter{left}"
    )


def test_a_complete_answer_has_nothing_left_to_continue() -> None:
    text = answer("hello", answer("hello").answer, CONTINUE).answer

    assert "nothing left to continue" in text


def test_another_models_answer_is_not_continued() -> None:
    text = answer("hello", "Bonjour, this is", CONTINUE).answer

    assert "I can only continue what I said myself" in text


def test_continuing_without_an_answer_gets_the_introduction() -> None:
    assert "I am not a language model" in answer(CONTINUE).answer


@pytest.mark.parametrize(
    "text", ["", " ", "a", "two words", "x" * 40, " \n\n lead", "end \n", "é🙂\u2028z"]
)
def test_joined_tokens_are_the_original_text(text: str) -> None:
    assert "".join(split_tokens(text)) == text
    assert all(len(token.strip()) <= 12 for token in split_tokens(text))


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        ("How do I connect a provider?", "Connect a provider"),
        ("왜 하늘은 파란가요?", "왜 하늘은 파란가요"),
        ("fail", "Fail"),
        ("?!", "A conversation"),
        ("the", "The"),
    ],
)
def test_a_title_is_made_from_the_prompts_words(prompt: str, title: str) -> None:
    [request_message] = build_messages(prompt, "So.")
    assert answer(str(request_message["content"]), reasons=True) == Script(title)
