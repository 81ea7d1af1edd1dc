"""A test that waits in vain fails alone: its tab closes, and what follows finds all in order."""

import asyncio

import pytest
from django.test import Client

from tests import tab as tab_module
from tests.tab import Tab


async def test_a_tab_that_waited_in_vain_still_closes(
    alices: Client, generations_end: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TimeoutError):
        async with Tab(alices) as tab:
            monkeypatch.setattr(tab_module, "WAIT_SECONDS", 0.05)
            await tab.until("what never comes")
    current = asyncio.current_task()
    assert current
    assert not current.cancelling()
