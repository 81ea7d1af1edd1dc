"""An upstream that answers each prompt of the story by its text, however often it is asked."""

import json
from base64 import b64encode
from typing import Any

from tests.support.fake_upstream import (
    Abort,
    FakeUpstream,
    Request,
    Script,
    Stall,
    Step,
    answer,
    build_response,
    choice,
    delta,
    done,
    finish,
    reasoning,
    role,
    usage,
)
from tests.support.pictures import png

MODELS = ["fable-large", "fable-small"]
CLOCK = "current_date_and_time"


def call(name: str, **arguments: object) -> list[Step]:
    """Return the steps of a reply that calls a tool."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    tool_call = {"index": 0, "id": "call_1", "function": function}
    steps = [role(), delta("Let me see."), choice({"tool_calls": [tool_call]})]
    return [*steps, finish("tool_calls"), usage(5, 2), done()]


def _image() -> list[Step]:
    url = "data:image/png;base64," + b64encode(png(16, 12)).decode()
    image = choice({"images": [{"image_url": {"url": url}}]})
    return [role(), delta("Here it is."), image, finish(), usage(9, 4), done()]


ANSWERS: dict[str, list[Step]] = {
    "Why is the sky blue?": [
        role(),
        reasoning("Think of *Rayleigh*."),
        delta("Because of **Rayleigh** scattering."),
        finish(),
        usage(12, 18, cached_tokens=4, reasoning_tokens=6),
        done(),
    ],
    "Tell it to the end": [role(), delta("It began well, and"), finish("length"), usage(), done()],
    "Say what you may not": [role(), delta("I"), finish("content_filter"), usage(), done()],
    "Break off": [role(), delta("Half of an ans"), Abort()],
    "Never stop": [role(), reasoning("Hm."), delta("On and on"), Stall()],
    "Draw a rose": _image(),
    "What time is it?": call(CLOCK, timezone="Europe/Vienna"),
    "Add two and three": call("test__add", a=2, b=3),
    "Echo, if I let you": call("test__echo", text="Let me"),
    "Answer without usage": [role(), delta("Uncounted."), finish(), done()],
}
REFUSED = "Fail at once"


class AnsweringUpstream(FakeUpstream):
    """Answers by the last prompt; a request with the result of a tool gets the rest."""

    def __init__(self) -> None:
        super().__init__()
        self.models = MODELS

    def take(self, request: Request) -> Script:
        script = super().record_request(request)
        if request.method != "POST":
            return script
        messages: list[dict[str, Any]] = request.body["messages"]
        if messages[-1]["role"] == "tool":
            return Script(tuple(answer("It is noon, by the clock.")))
        prompt = str([message for message in messages if message["role"] == "user"][-1]["content"])
        if REFUSED in prompt:
            return build_response(400, {"error": {"message": "The model is out of stories."}})
        steps = next((ANSWERS[text] for text in ANSWERS if text in prompt), None)
        return (
            Script(tuple(steps)) if steps else Script(tuple(answer(f"An answer to: {prompt[:40]}")))
        )
