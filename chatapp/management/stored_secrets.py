"""All that is stored encrypted: what of it can't be read, and how it gets under the newest key."""

from dataclasses import dataclass, field

from django.db import transaction

from chatapp.accounts import second_factor
from chatapp.models import ToolServer, Upstream

STORED = ((Upstream, "api_key"), (ToolServer, "secrets"))


@dataclass
class Rotation:
    rotated: int = 0
    problems: list[str] = field(default_factory=list)


def problems() -> list[str]:
    """A sentence for each that none of the keys decrypts."""
    return [
        one.secret_problem
        for model, _ in STORED
        for one in model.objects.all()
        if one.secret_problem
    ]


def rotate() -> Rotation:
    """Encrypts everything that can be read anew, by SECRET_KEY; the fallbacks may go afterwards."""
    done = Rotation()
    for model, name in STORED:
        with transaction.atomic():
            for one in model.objects.select_for_update():
                if one.secret_problem:
                    done.problems.append(one.secret_problem)
                elif getattr(one, name):
                    one.save(update_fields=[name])
                    done.rotated += 1
    done.rotated += second_factor.rotate()
    return done
