"""The Jinja2 environment that pages and sockets share, through Django's own backend.

Every value is escaped except HTML we made ourselves, and an undefined name is an error. Django's
own template engine renders plain text: mails (`templates/django/`) and allauth's messages.
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
from chatapp.models.billing.limits import dollars
from chatapp.models.conversations.chats.feedback import MAX_NOTE_LENGTH, get_loaded_feedback
from chatapp.models.conversations.threads.paths import build_path
from chatapp.models.platform import branding
from chatapp.rendering.fragments import context_figures, words
from chatapp.rendering.fragments.constants import WithConstants
from chatapp.rendering.fragments.fallback_words import fallback_sentence
from chatapp.rendering.fragments.file_icons import file_icon
from chatapp.rendering.fragments.includes import WithIncludes
from chatapp.rendering.fragments.layout import WithoutLayout
from chatapp.rendering.fragments.tool_names import in_words, readable_name
from chatapp.rendering.markdown.allowed import ALLOWED

FILTERS = (
    context_figures.answer_bounds,
    context_figures.characters_per_token,
    context_figures.context_tokens,
    context_figures.tool_tokens,
    dollars,
    fallback_sentence,
    in_words,
    file_icon,
    get_loaded_feedback,
    readable_name,
    words.about_file,
    words.about,
    words.about_model,
    words.age,
    words.as_json,
    words.chosen_model,
    words.day,
    words.ending_label,
    words.file_size,
    words.in_zone,
    words.initials,
    words.is_long,
    words.left_out_sentence,
    words.local_time,
    words.model_name,
    words.moment,
    words.parameter_name,
    words.sibling_position,
    words.round_usage,
    words.seconds,
    words.shown_size,
    words.state_words,
    words.thousands,
    words.usage_details,
    words.when,
)


def environment(**options: Any) -> Environment:
    """Make the environment; settings name this function. The backend passes the options.

    Autoescape is one of them.
    """
    options |= {
        "undefined": StrictUndefined,
        "extensions": [WithIncludes, WithoutLayout, WithConstants],
    }
    env = _Environment(**options)
    env.filters.update({function.__name__: function for function in FILTERS})
    env.globals.update(
        account_token=account_token,
        brand=branding.get_branding,
        close_codes={code.name: code.value for code in CloseCode},
        allowed_attributes=allowed_attributes(),
        longest_note=MAX_NOTE_LENGTH,
        messages_of=get_messages,
        most_characters=settings.CHATAPP_MAX_PROMPT_CHARACTERS,
        static=cache(static),  # a page names some sixty files, whose hashes never change
        url=url,
    )
    # An `import` in each template that calls them would cost more than the macros themselves.
    macros: dict[str, Any] = vars(env.get_template("chat/_macros.html").module)
    env.globals.update({name: macro for name, macro in macros.items() if not name.startswith("_")})
    env.globals["icon"] = cache(macros["icon"])  # every reply has three, out of a few
    return env


class _Environment(Environment):
    def make_globals(self, own: MutableMapping[str, Any] | None) -> MutableMapping[str, Any]:
        """Return one dict. Copying Jinja2's `ChainMap` took most of the time to render a prompt."""
        return {**self.globals, **(own or {})}


def draw(template: str, context: Mapping[str, object]) -> SafeString:
    """Render a partial as HTML that other partials can include."""
    html = _template(template).render(context)
    # The engine has escaped every value. `mark_safe` would first check for lazy strings, which
    # takes a tenth of a small partial's time.
    return SafeString(html)


def warm_up() -> None:
    """Compile the chat's templates, so that the first reply does not block the event loop."""
    for name in _environment().list_templates(filter_func=lambda name: name.startswith("chat/")):
        _environment().get_template(name)


def _template(name: str) -> Template:
    return _environment().get_template(name)


if not settings.DEBUG:  # Jinja2's own cache takes a lock and maintains an LRU order
    _template = cache(_template)


def _environment() -> Environment:
    backend = engines["jinja2"]
    assert isinstance(backend, Jinja2)
    env: Environment = backend.env
    return env


def url(name: str, *arguments: object) -> str:
    if not arguments:
        return _fixed_url(name)
    if len(arguments) == 1 and isinstance(arguments[0], UUID):
        return build_path(name, arguments[0])
    return reverse(name, args=arguments)


_fixed_url = cache(reverse)  # most URLs of a page have no arguments and never change


def csrf_input_once(request: HttpRequest) -> dict[str, object]:
    """Context processor: Django's hidden input, made once for all forms of a page."""
    return {"csrf_input": SimpleLazyObject(lambda: csrf_input(request))}


def allowed_attributes() -> str:
    """Return the attributes allowed in rendered text, such as `a href rel,ol start`, for
    static/js/page/untrusted-html.js."""
    return ",".join(" ".join([tag, *forms]) for tag, forms in ALLOWED.items() if forms)


def account_token(request: HttpRequest) -> str:
    """Return an unguessable name of the account, for keys in the browser's storage."""
    return salted_hmac("chatapp.account", str(request.user.pk)).hexdigest()[:32]
