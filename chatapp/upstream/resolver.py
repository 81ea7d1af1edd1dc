"""Names to addresses: the system's own way, /etc/hosts and search domains included, and one name
that hangs holds up no other.

`getaddrinfo` keeps its thread for as long as name servers stay silent, which is half a minute and
more, and the event loop's own look-ups share four threads. Here a name is looked up once at a time,
in a thread of its own; whoever else wants it meanwhile waits for the same answer.
"""

import asyncio
import ipaddress
import socket
import threading
from contextlib import suppress

LOOK_UP_SECONDS = 6.0  # resolvers ask again after 5, so one lost packet is no failure
MOST_LOOK_UPS = 64  # at once; each is a thread


class Resolver:
    """For one event loop."""

    def __init__(self) -> None:
        self._looking: dict[str, asyncio.Future[list[str]]] = {}

    async def addresses(self, host: str) -> list[str]:
        """The host's addresses, the best first. Raises `OSError` or `UnicodeError`."""
        if _is_address(host):
            return [host]
        looking = self._looking.get(host) or self._look_up(host)
        done, _ = await asyncio.wait({looking}, timeout=LOOK_UP_SECONDS)
        if not done:
            raise OSError(
                f"the address of {host} was not found within {LOOK_UP_SECONDS:g} seconds, "
                "since its name server does not answer"
            )
        return looking.result()

    def _look_up(self, host: str) -> "asyncio.Future[list[str]]":
        if len(self._looking) >= MOST_LOOK_UPS:
            raise OSError(f"the address of {host} is not looked up: too many other names hang")
        loop = asyncio.get_running_loop()
        looking: asyncio.Future[list[str]] = loop.create_future()

        def run() -> None:
            found: list[str] | Exception
            try:
                found = _found(host)
            except (OSError, UnicodeError) as error:
                found = error
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(_settle, looking, found)

        # A daemon, since no process should wait for it at its end.
        threading.Thread(target=run, name=f"look-up of {host}", daemon=True).start()
        self._looking[host] = looking
        looking.add_done_callback(lambda _: self._looking.pop(host))
        return looking


def _is_address(host: str) -> bool:
    with suppress(ValueError):
        ipaddress.ip_address(host)
        return True
    return False


def _found(host: str) -> list[str]:
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def _settle(looking: "asyncio.Future[list[str]]", found: list[str] | Exception) -> None:
    if isinstance(found, list):
        looking.set_result(found)
    else:
        looking.set_exception(found)
        looking.exception()  # perhaps nobody waits any more
