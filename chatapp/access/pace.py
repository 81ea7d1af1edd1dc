"""How much each person may do in this process, over pages and sockets together."""

from django.conf import settings

from chatapp.fairness.allowance import Allowance, Allowances

TABS_AT_WORK = 4  # that one person may use with all haste at once


def _new() -> Allowance:
    """After a restart all tabs of a person come back at once, hence the size of the burst."""
    return Allowance(
        TABS_AT_WORK * settings.CHATAPP_ACTIONS_PER_SECOND, 2 * settings.CHATAPP_TABS_PER_PERSON
    )


allowances = Allowances(_new)
