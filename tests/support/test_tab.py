"""A test that waits in vain fails alone: its tab closes, and what follows finds all in order."""

import pytest
from django.test import Client

from tests.support import tab as tab_module
from tests.support.tab import Tab


async def test_a_tab_that_waited_in_vain_still_closes(
    alices: Client, generations_end: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Tab(alices) as tab:
        monkeypatch.setattr(tab_module, "WAIT_SECONDS", 0.05)
        with pytest.raises(TimeoutError):
            await tab.until("what never comes")
