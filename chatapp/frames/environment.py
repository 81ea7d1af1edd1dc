"""The engine of what the page and the socket share: Jinja2, by Django's own backend.

Every value is escaped but HTML of our own making, and a name that is not there is an error instead
of nothing. Django's engine stays for the admin (`templates/django/`), which is written in it.
"""

from collections.abc import Mapping, MutableMapping
from functools import cache
from typing import Any

from django.conf import settings
from django.contrib.messages import get_messages
from django.http import HttpRequest
from django.template import engines
from django.template.backends.jinja2 import Jinja2
from django.templatetags.static import static
from django.urls import reverse
from django.utils.crypto import salted_hmac
from django.utils.safestring import SafeString, mark_safe
from jinja2 import Environment, StrictUndefined

from chatapp.close_codes import CloseCode
from chatapp.frames import words
from chatapp.frames.includes import WithIncludes
from chatapp.frames.layout import WithoutLayout
from chatapp.markdown.allowed import ALLOWED

FILTERS = (
    words.about_model,
    words.initials,
    words.is_long,
    words.left_out_sentence,
    words.model_name,
    words.moment,
    words.place,
    words.round_usage,
    words.seconds,
    words.state_words,
    words.thousands,
    words.usage_details,
)


def environment(**options: Any) -> Environment:
    """As the settings name it; the options are the backend's, autoescape among them."""
    options |= {"undefined": StrictUndefined, "extensions": [WithIncludes, WithoutLayout]}
    made = _Environment(**options)
    made.filters.update({one.__name__: one for one in FILTERS})
    made.globals.update(
        account_token=account_token,
        close_codes={code.name: code.value for code in CloseCode},
        foreign_attributes=foreign_attributes(),
        messages_of=get_messages,
        most_characters=settings.CHATAPP_MAX_PROMPT_CHARACTERS,
        static=cache(static),  # a page names some sixty files, whose hashes stay for good
        url=url,
    )
    # An `import` in each template that calls them would cost more than what they draw.
    macros: dict[str, Any] = vars(made.get_template("chat/_macros.html").module)
    made.globals.update({name: one for name, one in macros.items() if not name.startswith("_")})
    made.globals["icon"] = cache(macros["icon"])  # every reply has three, of few
    return made


class _Environment(Environment):
    def make_globals(self, own: MutableMapping[str, Any] | None) -> MutableMapping[str, Any]:
        """As one dict: Jinja2's `ChainMap`, copied for each rendering, took most of a prompt's."""
        return {**self.globals, **(own or {})}


def draw(template: str, context: Mapping[str, object]) -> SafeString:
    """A partial as HTML, which other partials may hold."""
    html = _made().get_template(template).render(context)
    return mark_safe(html)  # noqa: S308 - the engine escaped what is not ours


def warm_up() -> None:
    """Reads the chat's templates, or the first reply's frames would hold up the loop for it."""
    for name in _made().list_templates(filter_func=lambda name: name.startswith("chat/")):
        _made().get_template(name)


def _made() -> Environment:
    backend = engines["jinja2"]
    assert isinstance(backend, Jinja2)
    made: Environment = backend.env
    return made


def url(name: str, *arguments: object) -> str:
    return reverse(name, args=arguments)


def foreign_attributes() -> str:
    """The attributes that rendered text may have, for static/js/foreign.js: a href rel,ol start."""
    return ",".join(" ".join([tag, *forms]) for tag, forms in ALLOWED.items() if forms)


def account_token(request: HttpRequest) -> str:
    """Names the account in the browser's storage; nobody can guess another's."""
    return salted_hmac("chatapp.account", str(request.user.pk)).hexdigest()[:32]
