"""A kind of background job for tests, whose table exists during a test only."""

from collections.abc import Iterator

import pytest
from django.db import connection, models

from chatapp.models.platform.jobs import Job, JobState
from chatapp.realtime.worker import jobs
from chatapp.realtime.worker.jobs import Steps


class Errand(Job):
    """A job that waits again once after it has ended, if `again` is set."""

    objects: models.Manager["Errand"] = models.Manager()
    again = models.BooleanField(default=False)

    class Meta(Job.Meta):
        abstract = False
        app_label = "tests"

    def after_end(self) -> None:
        if self.again:
            self.again, self.state = False, JobState.WAITING
            self.save()


@pytest.fixture
def errands(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[type[Job], Steps]]:
    """The kinds of jobs that are run: none, until a test registers `Errand`."""
    kinds: dict[type[Job], Steps] = {}
    monkeypatch.setattr(jobs, "kinds", kinds)
    with connection.schema_editor() as editor:
        editor.create_model(Errand)
    yield kinds
    with connection.schema_editor() as editor:
        editor.delete_model(Errand)
