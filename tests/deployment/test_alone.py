"""Without Redis there is one process, and a second one is told so."""

import pytest

from tests.live import Server, Site


def test_a_second_process_without_redis_is_refused_at_start(team: Site) -> None:
    shared = team.copy()
    with Server(shared):
        second = Server(shared)
        with pytest.raises(AssertionError, match="REDIS_URL"):
            second.start()
        assert second.wait() == 1
        assert "Traceback" not in second.log


def test_after_a_crash_it_is_started_again_at_once(team: Site) -> None:
    server = Server(team.copy())
    with server:
        server.kill()
        server.start()
