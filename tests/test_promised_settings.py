"""The settings have the defaults and values that the documentation says they have."""

import ast
import re
from pathlib import Path

import pytest
from django.conf import global_settings, settings

from chatapp.models.billing import reservations
from chatapp.models.review import reviews
from chatapp.realtime.worker import temporaries
from chatapp.server.adapter import http_protocol
from chatapp.sessions import devices

ROOT = Path(__file__).parent.parent
ROW = re.compile(r"^\| `([A-Z_]+)` \| ([^|]+) \|", re.MULTILINE)
SOURCE = (ROOT / "chatapp/settings.py").read_text()


def literal(node: ast.expr) -> str | float | None:
    """Return the value of a constant or of a product of numbers, or None."""
    match node:
        case ast.Constant(value=str() | int() | float() as value):
            return value
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            product = 1.0
            for factor in (literal(left), literal(right)):
                assert isinstance(factor, int | float)
                product *= factor
            return int(product)
    return None


def read_defaults() -> dict[str, str | float | None]:
    """Return the variables that the settings read, each with its default if that is a literal."""
    defaults: dict[str, str | float | None] = {}
    for node in ast.walk(ast.parse(SOURCE)):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name("environment")), args=[name, default]):
                defaults.setdefault(str(literal(name)), literal(default))
    return defaults


READ = read_defaults()
DOCUMENTED = dict(ROW.findall((ROOT / "docs/configuration.md").read_text()))


def test_each_documented_variable_is_read() -> None:
    assert len(DOCUMENTED) > 30
    assert [name for name in DOCUMENTED if f'"{name}"' not in SOURCE] == []


@pytest.mark.parametrize(
    "name", [variable for variable in DOCUMENTED if READ.get(variable) not in (None, "")]
)
def test_a_documented_default_is_the_real_one(name: str) -> None:
    documented = re.match(r"`([^`]*)`", DOCUMENTED[name])
    assert documented, DOCUMENTED[name]
    assert documented[1] == str(READ[name])


def test_passwords_are_hashed_with_pbkdf2() -> None:
    assert "PASSWORD_HASHERS" not in SOURCE
    assert global_settings.PASSWORD_HASHERS[0].endswith(".PBKDF2PasswordHasher")


def test_links_and_cookies_last_as_documented() -> None:
    assert settings.PASSWORD_RESET_TIMEOUT == 3 * 86400
    assert devices.COOKIE_SECONDS == 400 * 86400


def test_an_opened_chat_stays_open_to_its_reviewer_for_30_minutes() -> None:
    assert reviews.OPEN_FOR.total_seconds() == 30 * 60


def test_max_tokens_is_sent_for_budgets_up_to_4096_tokens() -> None:
    assert reservations.MAX_REQUESTED == 4096


def test_request_timeouts_are_as_documented() -> None:
    assert (http_protocol.HEAD_SECONDS, http_protocol.BODY_SECONDS) == (15, 15)
    assert http_protocol.SLOWEST_BYTES_A_SECOND == 16 * 1024
    assert http_protocol.IDLE_SECONDS == 60


def test_a_temporary_chat_is_erased_1_to_60_seconds_after_its_last_tab_closes() -> None:
    assert (temporaries.MIN_SECONDS, temporaries.MAX_SECONDS) == (1, 60)
