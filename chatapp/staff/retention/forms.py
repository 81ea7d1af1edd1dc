"""The form of retention periods, and the proof that their effect was previewed."""

from dataclasses import asdict

from django import forms
from django.core import signing

from chatapp.models import Retention
from chatapp.models.retention.periods import MAX_DAYS

SALT = "chatapp.retention"
SEEN_SECONDS = 3600  # how long a preview is considered current


class RetentionForm(forms.Form):
    """Retention periods in days. Empty fields mean no limit."""

    conversation_days = forms.IntegerField(
        label="Chats",
        required=False,
        min_value=1,
        max_value=MAX_DAYS,
        help_text="Days since the last prompt in a chat. Leave empty to keep chats forever.",
    )
    image_days = forms.IntegerField(
        label="Images in replies",
        required=False,
        min_value=1,
        max_value=MAX_DAYS,
        help_text="Days since the reply. Leave empty to keep images as long as their chat.",
    )
    audit_detail_days = forms.IntegerField(
        label="Personal details in the audit log",
        required=False,
        min_value=1,
        max_value=MAX_DAYS,
        help_text="Days since the event. The event is kept, with numbers instead of names. Leave "
        "empty to keep details as long as the log.",
    )

    @property
    def wanted(self) -> Retention:
        """The entered periods. Only available if the form is valid."""
        return Retention(**{name: self.cleaned_data[name] for name in asdict(Retention())})


def seal(previewed: Retention) -> str:
    """Return a signed token that proves that a preview of these values was shown."""
    return signing.dumps(asdict(previewed), salt=SALT)


def was_previewed(wanted: Retention, token: str) -> bool:
    """Whether the token proves that exactly these values were previewed, within the last hour."""
    try:
        return bool(signing.loads(token, salt=SALT, max_age=SEEN_SECONDS) == asdict(wanted))
    except signing.BadSignature:
        return False
