"""The actions that every engine supports, from a person's point of view."""

import json
import time
from abc import ABC, abstractmethod
from typing import Any

from tests.support.program import WAIT_SECONDS

ENTER = "\ue007"  # WebDriver's code for a key without a character

Action = dict[str, Any]


class Engine(ABC):
    """One window. `errors` holds what its console logged."""

    errors: list[str]

    @abstractmethod
    def go(self, url: str) -> None: ...

    @abstractmethod
    def reload(self) -> None: ...

    @abstractmethod
    def run(self, expression: str) -> Any:
        """Return the value of an expression in the page, or of its promise, as JSON."""

    @abstractmethod
    def perform(self, source: Action) -> None:
        """Perform one input source of WebDriver actions, which both protocols write alike."""

    def type(self, text: str) -> None:
        """Type into the focused element."""
        keys = [{"type": kind, "value": key} for key in text for kind in ("keyDown", "keyUp")]
        self.perform({"type": "key", "id": "keyboard", "actions": keys})

    def click(self, selector: str) -> None:
        """Click the middle of the element with the mouse, once it stays in place."""
        self.until(f"document.querySelector({json.dumps(selector)})?.checkVisibility() ?? false")
        before, (x, y) = None, self._middle(selector)
        while before != (x, y):
            before, (x, y) = (x, y), self._middle(selector)
        move = {"type": "pointerMove", "x": x, "y": y, "origin": "viewport"}
        press = [{"type": kind, "button": 0} for kind in ("pointerDown", "pointerUp")]
        self.perform({"type": "pointer", "id": "mouse", "actions": [move, *press]})

    def _middle(self, selector: str) -> list[int]:
        """Return the middle of the element in the next painted frame."""
        box = f"document.querySelector({json.dumps(selector)}).getBoundingClientRect()"
        numbers = f"(({{ x, y, width, height }}) => [x + width / 2, y + height / 2])({box})"
        middle = self.run(
            f"new Promise(requestAnimationFrame).then(() => {numbers}.map(Math.round))"
        )
        return list(middle)

    def until(self, expression: str) -> None:
        """Wait until the expression is true."""
        give_up_at = time.monotonic() + WAIT_SECONDS
        while self.run(expression) is not True:
            assert time.monotonic() < give_up_at, (
                f"{expression}\n{self.run('document.body.innerText')}"
            )
            time.sleep(0.05)
