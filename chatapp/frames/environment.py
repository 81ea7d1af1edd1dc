"""The engine of what the page and the socket share: Jinja2, by Django's own backend.

Every value is escaped but HTML of our own making, and a name that is not there is an error instead
of nothing. Django's engine stays for the admin (`templates/django/`), which is written in it.
"""

from collections.abc import Mapping, MutableMapping
from functools import cache
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.messages import get_messages
from django.http import HttpRequest
from django.template import engines
from django.template.backends.jinja2 import Jinja2
from django.template.backends.utils import csrf_input
from django.templatetags.static import static
from django.urls import reverse
from django.utils.crypto import salted_hmac
from django.utils.functional import SimpleLazyObject
from django.utils.safestring import SafeString
from jinja2 import Environment, StrictUndefined, Template

from chatapp.close_codes import CloseCode
from chatapp.frames import words
from chatapp.frames.compiling import Generator, escaped
from chatapp.frames.includes import WithIncludes
from chatapp.frames.layout import WithoutLayout
from chatapp.markdown.allowed import ALLOWED
from chatapp.models import branding
from chatapp.models.feedback import LONGEST_NOTE
from chatapp.models.limits import dollars
from chatapp.models.paths import path_of

FILTERS = (
    dollars,
    words.about_model,
    words.in_zone,
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
        brand=branding.known,
        close_codes={code.name: code.value for code in CloseCode},
        foreign_attributes=foreign_attributes(),
        longest_note=LONGEST_NOTE,
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
    code_generator_class = Generator
    escaped = staticmethod(escaped)

    def make_globals(self, own: MutableMapping[str, Any] | None) -> MutableMapping[str, Any]:
        """As one dict: Jinja2's `ChainMap`, copied for each rendering, took most of a prompt's."""
        return {**self.globals, **(own or {})}


def draw(template: str, context: Mapping[str, object]) -> SafeString:
    """A partial as HTML, which other partials may hold."""
    html = _template(template).render(context)
    # The engine escaped what is not ours. `mark_safe`, which first looks whether it is lazy, takes
    # a tenth of a small partial's time.
    return SafeString(html)


def warm_up() -> None:
    """Reads the chat's templates, or the first reply's frames would hold up the loop for it."""
    for name in _made().list_templates(filter_func=lambda name: name.startswith("chat/")):
        _made().get_template(name)


def _template(name: str) -> Template:
    return _made().get_template(name)


if not settings.DEBUG:  # Jinja2's own cache has a lock, and an order of use to keep
    _template = cache(_template)


def _made() -> Environment:
    backend = engines["jinja2"]
    assert isinstance(backend, Jinja2)
    made: Environment = backend.env
    return made


def url(name: str, *arguments: object) -> str:
    if len(arguments) == 1 and isinstance(arguments[0], UUID):
        return path_of(name, arguments[0])
    return reverse(name, args=arguments)


def csrf_input_once(request: HttpRequest) -> dict[str, object]:
    """Django's own hidden input, made once for all forms of a page instead of for each."""
    return {"csrf_input": SimpleLazyObject(lambda: csrf_input(request))}


def with_brand(request: HttpRequest) -> dict[str, object]:
    """For the administration's own pages, whose engine has no globals."""
    return {"brand": branding.known()}


def foreign_attributes() -> str:
    """The attributes that rendered text may have, for static/js/foreign.js: a href rel,ol start."""
    return ",".join(" ".join([tag, *forms]) for tag, forms in ALLOWED.items() if forms)


def account_token(request: HttpRequest) -> str:
    """Names the account in the browser's storage; nobody can guess another's."""
    return salted_hmac("chatapp.account", str(request.user.pk)).hexdigest()[:32]
