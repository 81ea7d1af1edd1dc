"""For how many days things are to be kept."""

from dataclasses import asdict

from django import forms
from django.core import signing

from chatapp.models import Retention
from chatapp.models.retention import MOST_DAYS

SALT = "chatapp.retention"
SEEN_SECONDS = 3600  # for which what a preview has shown is near enough to what there is


class RetentionForm(forms.Form):
    conversation_days = forms.IntegerField(
        label="Conversations",
        required=False,
        min_value=1,
        max_value=MOST_DAYS,
        help_text="Days since something was last asked in one. Left empty: for ever.",
    )
    image_days = forms.IntegerField(
        label="Images that came with replies",
        required=False,
        min_value=1,
        max_value=MOST_DAYS,
        help_text="Days since the reply. Left empty: for as long as their conversation.",
    )
    audit_detail_days = forms.IntegerField(
        label="Personal details in the audit log",
        required=False,
        min_value=1,
        max_value=MOST_DAYS,
        help_text="Days since the event, which itself stays, by numbers in place of names. Left "
        "empty: for as long as the log.",
    )

    @property
    def wanted(self) -> Retention:
        return Retention(**{name: self.cleaned_data[name] for name in asdict(Retention())})


def seal(previewed: Retention) -> str:
    """What the page brings back that has shown what would go by these values."""
    return signing.dumps(asdict(previewed), salt=SALT)


def was_previewed(wanted: Retention, brought: str) -> bool:
    """Whether it was by these very values."""
    try:
        return bool(signing.loads(brought, salt=SALT, max_age=SEEN_SECONDS) == asdict(wanted))
    except signing.BadSignature:
        return False
