"""A disk that is too small for a restore."""

import pytest
from django.core.management.base import CommandError

from chatapp.management.backups.refusals import refuse_lack_of_space


def test_a_backup_that_does_not_fit_on_the_disk_is_refused() -> None:
    with pytest.raises(
        CommandError, match=r"bytes free, but the backup needs 1,000,0.* Free space"
    ):
        refuse_lack_of_space(10**18)
