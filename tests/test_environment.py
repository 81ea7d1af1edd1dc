"""The readers of the environment: each bad value gets a sentence with the remedy, and no secret."""

import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from chatapp import environment

Reader = Callable[[str], object]


def grace(name: str) -> float:
    return environment.seconds(name, 10)


def port(name: str) -> int:
    return environment.port(name, 8000)


def tabs(name: str) -> int:
    return environment.number(name, 250)


def body(name: str) -> int:
    return environment.size(name, 2097152)


def zone(name: str) -> str:
    return environment.zone(name, "UTC")


def base_url(name: str) -> str:
    return environment.url(name, ("http", "https"))


def proxies(name: str) -> list[str]:
    return environment.networks(name, "::1")


@pytest.mark.parametrize(
    ("read", "value", "expected"),
    [
        (environment.text, "  padded ", "padded"),
        (environment.words, "a, b,,c ", ["a", "b", "c"]),
        (environment.words, "", []),
        (environment.flag, "Yes", True),
        (environment.flag, "1", True),
        (environment.flag, "off", False),
        (environment.flag, "", False),
        (grace, "", 10.0),
        (grace, "0", 0.0),
        (grace, "2.5", 2.5),
        (grace, "inf", float("inf")),
        (port, "", 8000),
        (port, "0", 0),
        (port, "65535", 65535),
        (tabs, "", 250),
        (tabs, "1", 1),
        (base_url, "", ""),
        (base_url, "https://host/v1", "https://host/v1"),
        (environment.origins, "https://a.example/,http://b:1", ["https://a.example", "http://b:1"]),
        (proxies, "", ["::1/128"]),
        (proxies, "2001:db8::/32, ::2", ["2001:db8::/32", "::2/128"]),
        (proxies, "10.0.0.0/8", ["10.0.0.0/8", "::ffff:10.0.0.0/104"]),
    ],
)
def test_a_good_value_is_read(
    monkeypatch: pytest.MonkeyPatch, read: Reader, value: str, expected: object
) -> None:
    monkeypatch.setenv("NAME", value)
    assert read("NAME") == expected


@pytest.mark.parametrize(
    ("read", "value", "sentence"),
    [
        (environment.flag, "maybe", 'NAME="maybe" is neither true nor false: set it to 1 or 0'),
        (grace, "soon", 'NAME="soon" is not a number of seconds, for example 10'),
        (grace, "-1", 'NAME="-1" is not a number of seconds, for example 10'),
        (grace, "nan", 'NAME="nan" is not a number of seconds, for example 10'),
        (port, "http", 'NAME="http" is not a port number, for example 8000'),
        (port, "65536", 'NAME="65536" is not a port number, for example 8000'),
        (port, "-1", 'NAME="-1" is not a port number, for example 8000'),
        (tabs, "0", 'NAME="0" is not a positive whole number, for example 250'),
        (tabs, "many", 'NAME="many" is not a positive whole number, for example 250'),
        (tabs, "²", 'NAME="²" is not a positive whole number, for example 250'),
        *(
            (body, wrong, f'NAME="{wrong}" is not a number of bytes, for example 2097152')
            for wrong in ("0", "-1", "2m", "1.5")
        ),
        *(
            (zone, wrong, f'NAME="{wrong}" is not a time zone, for example Europe/Berlin')
            for wrong in ("Berlin", "../../etc/passwd", "Europe", "/etc/localtime")
        ),
        (base_url, "host/v1", "NAME must start with http:// or https://"),
        (
            environment.origins,
            "chat.example.org",
            'NAME: "chat.example.org" is not an origin, for example https://chat.example.org',
        ),
        (
            environment.origins,
            "https://a/b",
            'NAME: "https://a/b" is not an origin, for example https://chat.example.org',
        ),
        (
            proxies,
            "10.0.0.0/8,*",
            'NAME: "*" is neither an address nor a network, for example 10.0.0.0/8',
        ),
        (
            proxies,
            "10.0.0.1/8",
            'NAME: "10.0.0.1/8" is neither an address nor a network, for example 10.0.0.0/8',
        ),
        (environment.database, "mysql://h/d", "NAME must start with postgres:// or postgresql://"),
        (
            environment.database,
            "postgres://u@h",
            "NAME names no database, for example postgres://user:password@host:5432/chatapp",
        ),
    ],
)
def test_a_bad_value_is_refused_with_a_remedy(
    monkeypatch: pytest.MonkeyPatch, read: Reader, value: str, sentence: str
) -> None:
    monkeypatch.setenv("NAME", value)
    with pytest.raises(ImproperlyConfigured) as refused:
        read("NAME")
    assert str(refused.value) == sentence


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (base_url, "ftp://ann:hunter2@host/"),
        (base_url, "hunter2"),
        (environment.database, "mysql://ann:hunter2@host/chatapp"),
        (environment.database, "postgres://ann:hunter2@host"),
    ],
)
def test_a_password_in_a_bad_url_is_not_repeated(
    monkeypatch: pytest.MonkeyPatch, read: Reader, value: str
) -> None:
    monkeypatch.setenv("NAME", value)
    with pytest.raises(ImproperlyConfigured) as refused:
        read("NAME")
    assert "hunter2" not in str(refused.value)


def test_a_database_url_becomes_djangos_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAME", "postgres://ann:p%40ss@db:5433/chatapp")
    config = environment.database("NAME")
    assert config["ENGINE"] == "django.db.backends.postgresql"
    assert [config[k] for k in ("USER", "PASSWORD", "HOST", "PORT", "NAME")] == [
        "ann",
        "p@ss",
        "db",
        5433,
        "chatapp",
    ]


def test_options_in_a_database_url_join_the_default_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAME", "postgres://ann@db/chatapp?sslmode=verify-full&connect_timeout=9")
    defaults = {"ENGINE": "ours", "OPTIONS": {"connect_timeout": 3, "keepalives_idle": 5}}
    config = environment.database("NAME", **defaults)
    assert (config["ENGINE"], config["NAME"]) == ("ours", "chatapp")
    assert config["OPTIONS"] == {
        "connect_timeout": 9,
        "keepalives_idle": 5,
        "sslmode": "verify-full",
    }


def test_a_blank_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAME", " ")
    assert environment.text("NAME", "127.0.0.1") == "127.0.0.1"


def test_a_secret_is_created_once_and_private_to_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "new" / "secret_key"
    first = environment.generated_secret(path)
    assert len(first) >= 50
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert environment.generated_secret(path) == first
    assert environment.generated_secret(tmp_path / "other") != first


def test_links_in_emails_use_the_first_origin_without_a_wildcard() -> None:
    origins = ["https://*.example.org", "https://chat.example.org", "https://other.example.org"]
    assert environment.first_origin(origins, "EMAIL_URL") == "https://chat.example.org"
    assert environment.first_origin([], "") == ""


@pytest.mark.parametrize("origins", [[], ["https://*.example.org"]])
def test_email_needs_an_origin_for_its_links(origins: list[str]) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"^EMAIL_URL needs .* Set CSRF_TRUSTED_ORIGINS"):
        environment.first_origin(origins, "EMAIL_URL")
