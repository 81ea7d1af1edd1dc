"""Without Redis there is only one process; a second one is refused with an explanation."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.live import Server, Site


def test_a_second_process_without_redis_is_refused_at_start(team: Site) -> None:
    shared = team.copy()
    with Server(shared):
        second = Server(shared)
        with pytest.raises(AssertionError, match="REDIS_URL"):
            second.start()
        assert second.wait() == 1
        assert "Traceback" not in second.log


def test_after_a_crash_it_can_be_restarted_at_once(team: Site) -> None:
    server = Server(team.copy())
    with server:
        server.kill()
        server.start()


@pytest.mark.thorough
def test_only_one_of_two_concurrent_starts_succeeds(team: Site) -> None:
    shared = team.copy()
    servers = [Server(shared), Server(shared)]
    with ThreadPoolExecutor(len(servers)) as starting:
        assert sorted(starting.map(does_start, servers)) == [False, True]
    for server in servers:
        assert not server.is_running or server.stop() == 0


def does_start(server: Server) -> bool:
    try:
        server.start()
    except AssertionError:
        assert "REDIS_URL" in server.log
        return False
    return True
