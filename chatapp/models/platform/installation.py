"""The settings that administrators make for the whole installation: one row, or none yet."""

from typing import Any

from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models, transaction
from django.urls import reverse

from chatapp.db.statements import Query
from chatapp.models.accounts.users import User
from chatapp.models.platform import branding, colours
from chatapp.models.platform.branding import OWN_ACCENT, OWN_NAME, Branding
from chatapp.models.platform.upstreams import ModelChoice, Upstream

SINGLETON_PK = 1  # the primary key of the one row
MAX_NOTICE_LENGTH = 1000  # characters


def validate_domains(value: str) -> None:
    for domain in value.split():
        if "@" in domain or "." not in domain.strip("."):
            raise ValidationError(
                f"“{domain[:80]}” isn't a domain name. Enter one like example.org."
            )


def validate_name(value: str) -> None:
    """Reject control characters: the name is used in the subject of emails, too."""
    if not value.isprintable():
        raise ValidationError("Use visible characters only, on one line.")


def validate_accent(value: str) -> None:
    if not colours.COLOUR.fullmatch(value):
        raise ValidationError(f"“{value}” isn't a colour. Enter one like {OWN_ACCENT}.")
    if not colours.is_readable(value, colours.LIGHT):
        nearest = colours.make_readable(value, colours.LIGHT)
        raise ValidationError(
            f"{value} has too little contrast on a light page. {nearest} is the closest that works."
        )


class Installation(models.Model):
    class Closing(models.TextChoices):
        """The fate of running replies when a person closes their last tab."""

        STOP = "stop", "Stop replies"
        CHOOSE = "choose", "Let people choose; stop replies unless they choose otherwise"
        FINISH = "finish", "Finish replies"

    class Sharing(models.TextChoices):
        """The people who may share prompts with others; administrators always may."""

        EVERYONE = "everyone", "Everyone"
        GROUPS = "groups", "Members of these groups, and administrators"
        ADMINISTRATORS = "administrators", "Administrators"

    class Api(models.TextChoices):
        """The people who may use the API."""

        NOBODY = "nobody", "Nobody"
        GROUPS = "groups", "Members of these groups"
        EVERYONE = "everyone", "Everyone"

    class SignUp(models.TextChoices):
        CLOSED = "closed", "Nobody, not even with an invitation"
        INVITED = "invited", "People with an invitation"
        DOMAINS = "domains", "People with an invitation, or with an email address of these domains"

    signup = models.CharField(
        "who may make an account",
        max_length=7,
        choices=SignUp,
        default=SignUp.INVITED,
        db_default=SignUp.INVITED,
    )
    signup_domains = models.TextField(
        "domains",
        blank=True,
        default="",
        db_default="",
        validators=[validate_domains],
        help_text="One per line, for example example.org. The sign-up link is sent to the address.",
    )
    staff_second_factor = models.BooleanField(
        "staff must have a second factor",
        default=False,
        db_default=False,
        help_text="Administrators and reviewers without one must add it before they can continue.",
    )
    title_upstream = models.ForeignKey(
        Upstream,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        verbose_name="upstream for titles",
        help_text="Its model reads the first prompt and the beginning of the reply, and writes a "
        "title. Without one, the title is the first words of the prompt.",
    )
    title_model = models.CharField(
        "model for titles",
        max_length=200,
        blank=True,
        help_text="A small, fast model is enough, for example gpt-4o-mini. It need not be one of "
        "those that people can choose.",
    )

    default_upstream = models.ForeignKey(
        Upstream,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        verbose_name="upstream of new chats",
        help_text="Its model below is preselected for people who have not used one yet. Without "
        "one, the first in the list is preselected.",
    )
    default_model = models.CharField(
        "model of new chats", max_length=200, blank=True, default="", db_default=""
    )
    notice = models.TextField(
        "message of the day",
        max_length=MAX_NOTICE_LENGTH,
        blank=True,
        default="",
        db_default="",
        help_text="Shown above every new chat, as plain text: what people should know today, or "
        "whom to ask.",
    )

    closing = models.CharField(
        "when someone closes their last tab",
        max_length=6,
        choices=Closing,
        default=Closing.CHOOSE,
        db_default=Closing.CHOOSE,
        help_text="A reply that goes on costs tokens, even if nobody reads it. Replies in "
        "temporary chats always stop.",
    )

    who_shares = models.CharField(
        "who may share",
        max_length=14,
        choices=Sharing,
        default=Sharing.EVERYONE,
        db_default=Sharing.EVERYONE,
        help_text="What is shared already stays shared until its owner or an administrator stops "
        "it.",
    )
    allows_public_links = models.BooleanField(
        "people may share chats by links that work without signing in",
        default=False,
        db_default=False,
        help_text="Anyone who gets such a link can read what it shows. While this is off, "
        "existing links of this kind don't work.",
    )
    share_days = models.PositiveSmallIntegerField(
        "maximum number of days that a link to a chat works",
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(3650)],
        help_text="Leave it empty to allow links that work until they are revoked.",
    )
    sharing_groups = models.ManyToManyField(Group, related_name="+", blank=True)

    who_uses_api = models.CharField(
        "who may use the API",
        max_length=8,
        choices=Api,
        default=Api.NOBODY,
        db_default=Api.NOBODY,
        help_text="With tokens that they make for their scripts, people use the models that they "
        "may use here, under the same limits. Reviewers see only what a script asks to save as a "
        "chat; nothing else is stored.",
    )
    api_groups = models.ManyToManyField(Group, related_name="+", blank=True)

    name = models.CharField(
        max_length=40,
        blank=True,
        default="",
        db_default="",
        validators=[validate_name],
        help_text="The name that people see: in titles, at sign-in, in emails and in authenticator "
        f"apps. Without one: {OWN_NAME}.",
    )
    accent = models.CharField(
        "accent colour",
        max_length=7,
        blank=True,
        default="",
        db_default="",
        validators=[validate_accent],
        help_text="The colour of links and buttons; dark pages use a lighter shade. The default is "
        f"{OWN_ACCENT}.",
    )
    accent_dark = models.CharField(
        max_length=7, blank=True, default="", db_default="", editable=False
    )
    logo_version = models.CharField(
        max_length=16, blank=True, default="", db_default="", editable=False
    )

    # Read and set by `Retention`. None means forever.
    conversation_days = models.PositiveIntegerField(null=True, editable=False)
    file_days = models.PositiveIntegerField(null=True, editable=False, db_column="image_days")
    audit_detail_days = models.PositiveIntegerField(null=True, editable=False)

    class Meta:
        verbose_name_plural = "installation"

    def __str__(self) -> str:
        return "This installation"

    def save(self, *args: Any, **options: Any) -> None:
        self.accent_dark = self.accent and colours.make_readable(self.accent, colours.DARK)
        super().save(*args, **options)
        transaction.on_commit(branding.expire_branding)

    def clean(self) -> None:
        if self.title_upstream and not self.title_model:
            raise ValidationError({"title_model": "Enter the model that writes titles."})
        if self.title_model and not self.title_upstream:
            raise ValidationError({"title_upstream": "Choose the provider that has this model."})
        if self.default_upstream and not self.default_model:
            raise ValidationError({"default_model": "Enter the default model for new chats."})
        if self.default_model and not self.default_upstream:
            raise ValidationError({"default_upstream": "Choose the provider that has this model."})

    @classmethod
    def load(cls) -> "Installation":
        """Return the row, or an unsaved one with the defaults if nothing was set yet."""
        return _INSTALLATION.first(SINGLETON_PK) or cls(pk=SINGLETON_PK)

    def finishes(self, user: User) -> bool:
        """Whether this person's replies go on after their last tab is closed."""
        if self.closing == self.Closing.CHOOSE:
            return user.finishes_replies
        return self.closing == self.Closing.FINISH

    def lets_share(self, user: User) -> bool:
        """Whether this person may share what they have saved."""
        if self.who_shares == self.Sharing.EVERYONE or user.administers:
            return True
        if self.who_shares == self.Sharing.ADMINISTRATORS:
            return False
        return self.sharing_groups.filter(user=user).exists()

    def lets_use_api(self, user: User) -> bool:
        """Whether this person may make tokens for the API and use them."""
        if self.who_uses_api == self.Api.GROUPS:
            return self.api_groups.filter(user=user).exists()
        return self.who_uses_api == self.Api.EVERYONE

    @classmethod
    def keep_branding_fresh(cls) -> None:
        """Read the branding again if what this process has cached is over ten seconds old."""
        if not branding.is_fresh():
            branding.postpone_refresh()
            branding.set_branding(cls.load().branding)

    @property
    def branding(self) -> Branding:
        return Branding(
            self.name or OWN_NAME, self.accent, self.accent_dark, logo=self.logo_version
        )

    @property
    def logo(self) -> str:
        """The URL of the logo; "" without one."""
        return f"{reverse('logo')}?v={self.logo_version}" if self.logo_version else ""

    def takes_address(self, address: str) -> bool:
        """Whether anyone who receives mail at this address may create an account."""
        domain = address.rpartition("@")[2].lower()
        return self.signup == self.SignUp.DOMAINS and domain in self.signup_domains.lower().split()

    @property
    def default_choice(self) -> ModelChoice | None:
        if self.default_upstream_id is None or not self.default_model:
            return None
        return ModelChoice(self.default_upstream_id, self.default_model)

    @property
    def titles_by(self) -> Upstream | None:
        """The upstream that writes titles with `title_model`, or None if it can't be used."""
        upstream = self.title_upstream
        is_usable = upstream and upstream.enabled and not upstream.secret_problem
        return upstream if is_usable else None


# Prepared: saves 0.2 to 0.7 ms of each turn and each new chat's page.
_INSTALLATION = Query(lambda pk: Installation.objects.filter(pk=pk), Installation._meta.pk)
