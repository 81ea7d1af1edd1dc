"""A person's browser without scripts: it signs in and sends forms as the pages offer them."""

from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from tests.support.live import PASSWORD, TRUSTS_NOBODY, Person
from tests.support.page import Element, collect_fields, parse
from tests.upgrades.old_version import Installation

Values = str | Sequence[str]


class Refused(AssertionError):
    """A page that did not take a form, with what it says about it."""


class Browser:
    """The browser of one person."""

    def __init__(self, site: Installation, username: str = "") -> None:
        self.site = site
        self.username = username
        self.client = httpx.Client(base_url=site.url, trust_env=False, verify=TRUSTS_NOBODY)
        if username:
            self.fill_in("account_login", login=username, password=PASSWORD)

    @property
    def person(self) -> Person:
        """The person as tabs know them."""
        session = next(value for name, value in self.client.cookies.items() if "session" in name)
        return Person(self.username, session)

    def get(self, path: str) -> httpx.Response:
        response = self.client.get(path, follow_redirects=True)
        assert response.status_code == 200, f"{path}: {response.status_code}"
        return response

    def fill_in(self, page: str, arguments: Mapping[str, object] = {}, /, **fields: Values) -> str:
        """Send the form of a page that has these fields, and return the page that follows."""
        return self.submit(self.site.path(page, **arguments), **fields)

    def submit(self, path: str, **fields: Values) -> str:
        response = self.get(path)
        return self.submit_page(str(response.url), response.text, **fields)

    def submit_page(self, url: str, page: str, **fields: Values) -> str:
        """Send the form with these fields of a page that is already there."""
        form = _form_with(page, fields)
        return self.post(form.attributes.get("action", "") or url, collect_fields(form) | fields)

    def press(self, page: str, arguments: Mapping[str, object] = {}, /, **fields: Values) -> str:
        """Send what a button of another page sends to this one."""
        return self.post(self.site.path(page, **arguments), fields)

    def post(self, path: str, fields: Mapping[str, Values]) -> str:
        response = self.send("POST", path, data={**fields}, follow_redirects=True)
        is_page = response.headers.get("content-type", "").startswith("text/html")
        is_chat = "/c/" in str(response.url)  # where a failed reply says what went wrong
        problems = _problems(response.text) if is_page and not is_chat else ""
        if problems:
            raise Refused(f"{path} {fields}: {problems}")
        return response.text

    def send(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request as the page's scripts do."""
        headers = {
            "Origin": self.site.url,
            "X-CSRFToken": self.client.cookies.get("csrftoken") or "",
        }
        headers |= options.pop("headers", {})
        response = self.client.request(method, path, headers=headers, timeout=60, **options)
        assert response.status_code < 400, f"{path}: {response.status_code} {response.text[:1000]}"
        return response


def _form_with(page: str, fields: Mapping[str, Values]) -> Element:
    names = []
    for form in parse(page).find_all("form"):
        entries = (form.find_all(tag) for tag in ("input", "textarea", "select", "button"))
        names.append(
            {element.attributes.get("name", "") for elements in entries for element in elements}
        )
        if names[-1] >= fields.keys() and form.attributes.get("method") == "post":
            return form
    raise Refused(f"No form has {sorted(fields)}, but there are {names}")


def read_seal(page: str) -> dict[str, str]:
    """Return the field with which a page proves that it has shown what is about to be saved."""
    entries = parse(page).find_all("input") + parse(page).find_all("button")
    values = {
        element.attributes.get("name", ""): element.attributes.get("value", "")
        for element in entries
    }
    return {name: values[name] for name in ("seal", "seen") if name in values}


def _problems(page: str) -> str:
    """Return what a page says went wrong."""
    alerts = parse(page).find_all(role="alert") + parse(page).find_all("ul", class_="errorlist")
    texts = (alert.text.strip() for alert in alerts if "hidden" not in alert.attributes)
    return " ".join(filter(None, texts))
