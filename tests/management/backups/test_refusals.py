"""A disk that is too small for what is to be restored."""

import pytest
from django.core.management.base import CommandError

from chatapp.management.backups.refusals import refuse_lack_of_space


def test_a_backup_that_the_disk_can_not_hold_is_refused() -> None:
    with pytest.raises(CommandError, match=r"bytes free and the backup takes 1,000,0.* Make room"):
        refuse_lack_of_space(10**18)
