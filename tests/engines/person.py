"""The actions of a person in any engine, and what they see."""

from tests.engines.engine import ENTER, Engine
from tests.support.live import PASSWORD, Server

CONNECTED = "document.querySelector('#app')?.dataset.connection === 'open'"


def sign_in(engine: Engine, server: Server, username: str) -> None:
    engine.go(f"{server.url}/")
    engine.click("[name=login]")
    engine.type(username)
    engine.click("[name=password]")
    engine.type(PASSWORD + ENTER)
    engine.until(CONNECTED)


def ending(name: str) -> str:
    return f"[...document.querySelectorAll('[data-reply]')].at(-1)?.dataset.ending === '{name}'"


def shows(text: str) -> str:
    """Return an expression for whether the last answer is this text."""
    answers = "document.querySelectorAll('[data-region=answer]')"
    return f"[...{answers}].at(-1)?.textContent.trim() === '{text}'"


def ask(engine: Engine, text: str) -> None:
    engine.click("#message")
    engine.type(text + ENTER)
