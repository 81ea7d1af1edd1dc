"""The form of retention periods, and the proof that their effect was previewed."""

from dataclasses import asdict
from typing import Any

from django import forms
from django.core import signing

from chatapp.models import Retention
from chatapp.models.retention.periods import MAX_DAYS

DAYS: dict[str, Any] = {
    "required": False,
    "min_value": 1,
    "max_value": MAX_DAYS,
    "widget": forms.NumberInput({"placeholder": "never"}),
}
SALT = "chatapp.retention"
SEEN_SECONDS = 3600  # how long a preview is considered current


class RetentionForm(forms.Form):
    """Retention periods in days, as sentences: a label, the days, and a hint. Empty means never."""

    conversation_days = forms.IntegerField(
        label="Delete chats", help_text="days after their last prompt", **DAYS
    )
    file_days = forms.IntegerField(
        label="Delete files and images", help_text="days after their message", **DAYS
    )
    audit_detail_days = forms.IntegerField(
        label="Delete personal details in the audit log",
        help_text="days after the event",
        **DAYS,
    )

    @property
    def periods(self) -> Retention:
        """The entered periods. Only available if the form is valid."""
        return Retention(**{name: self.cleaned_data[name] for name in asdict(Retention())})


def seal_preview(previewed: Retention) -> str:
    """Return a signed token that proves that a preview of these values was shown."""
    return signing.dumps(asdict(previewed), salt=SALT)


def was_previewed(periods: Retention, token: str) -> bool:
    """Whether the token proves that exactly these values were previewed, within the last hour."""
    try:
        return bool(signing.loads(token, salt=SALT, max_age=SEEN_SECONDS) == asdict(periods))
    except signing.BadSignature:
        return False
