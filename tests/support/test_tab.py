"""A test that times out fails alone: its tab still closes, so later tests are not affected."""

import pytest
from django.test import Client

from tests.support import tab as tab_module
from tests.support.tab import Tab


async def test_a_tab_that_timed_out_still_closes(
    alices: Client, generations_end: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Tab(alices) as tab:
        monkeypatch.setattr(tab_module, "WAIT_SECONDS", 0.05)
        with pytest.raises(TimeoutError):
            await tab.until("what never comes")
