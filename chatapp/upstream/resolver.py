"""Resolve host names with the system's resolver, without slow names delaying others.

`getaddrinfo` blocks its thread while name servers stay silent, for half a minute or more, and the
event loop's default executor has few threads. Here each look-up has its own thread, and concurrent
look-ups of the same name share one. /etc/hosts and search domains work as usual.
"""

import asyncio
import ipaddress
import socket
import threading
from contextlib import suppress

LOOK_UP_SECONDS = 6.0  # resolvers retry after 5, so one lost packet is not a failure
MAX_LOOKUPS = 64  # concurrent look-ups; each is a thread


class Resolver:
    """Resolves names for one event loop."""

    def __init__(self) -> None:
        self._look_ups: dict[str, asyncio.Future[list[str]]] = {}

    async def addresses(self, host: str) -> list[str]:
        """Return the host's addresses, the best first. Raises `OSError` or `UnicodeError`."""
        if _is_address(host):
            return [host]
        look_up = self._look_ups.get(host) or self._look_up(host)
        done, _ = await asyncio.wait({look_up}, timeout=LOOK_UP_SECONDS)
        if not done:
            raise OSError(
                f"the address of {host} was not found within {LOOK_UP_SECONDS:g} seconds, "
                "because its name server does not answer"
            )
        return look_up.result()

    def _look_up(self, host: str) -> "asyncio.Future[list[str]]":
        if len(self._look_ups) >= MAX_LOOKUPS:
            raise OSError(f"the address of {host} was not looked up: too many other look-ups hang")
        loop = asyncio.get_running_loop()
        look_up: asyncio.Future[list[str]] = loop.create_future()

        def run() -> None:
            result: list[str] | Exception
            try:
                result = _resolve(host)
            except (OSError, UnicodeError) as error:
                result = error
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(_settle, look_up, result)

        # A daemon thread, so that the process does not wait for it on exit.
        threading.Thread(target=run, name=f"look-up of {host}", daemon=True).start()
        self._look_ups[host] = look_up
        look_up.add_done_callback(lambda _: self._look_ups.pop(host))
        return look_up


def _is_address(host: str) -> bool:
    with suppress(ValueError):
        ipaddress.ip_address(host)
        return True
    return False


def _resolve(host: str) -> list[str]:
    entries = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in entries))


def _settle(look_up: "asyncio.Future[list[str]]", result: list[str] | Exception) -> None:
    if isinstance(result, list):
        look_up.set_result(result)
    else:
        look_up.set_exception(result)
        look_up.exception()  # mark it as retrieved: maybe nobody waits any more
