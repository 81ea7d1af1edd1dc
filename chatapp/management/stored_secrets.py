"""Stored secrets: report those that can't be decrypted, and encrypt all with the newest key."""

from dataclasses import dataclass, field

from django.db import transaction

from chatapp.accounts import second_factor
from chatapp.models import ToolServer, Upstream

SECRET_FIELDS = ((Upstream, "api_key"), (ToolServer, "secrets"))


@dataclass
class Rotation:
    rotated: int = 0
    problems: list[str] = field(default_factory=list)


def problems() -> list[str]:
    """Return a sentence for each secret that no key decrypts."""
    return [
        row.secret_problem
        for model, _ in SECRET_FIELDS
        for row in model.objects.all()
        if row.secret_problem
    ]


def rotate() -> Rotation:
    """Encrypt everything readable with SECRET_KEY; then SECRET_KEY_FALLBACKS isn't needed."""
    done = Rotation()
    for model, name in SECRET_FIELDS:
        with transaction.atomic():
            for row in model.objects.select_for_update():
                if row.secret_problem:
                    done.problems.append(row.secret_problem)
                elif getattr(row, name):
                    row.save(update_fields=[name])
                    done.rotated += 1
    done.rotated += second_factor.rotate()
    return done
