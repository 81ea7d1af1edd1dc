"""How a test's server stops to listen, so that no socket stays open behind it."""

import asyncio

TURNS = 5  # of the loop, within which what was accepted becomes a connection and gets its task


async def stop_listening(server: asyncio.Server) -> None:
    """Closes the server once whatever it has accepted is a connection of its own.

    Closed in the turn in which it accepts, asyncio's server drops the socket unclosed
    (python/cpython#109564), and its warning fails whichever test comes next.
    """
    loop = asyncio.get_running_loop()
    for listener in server.sockets:
        loop.remove_reader(listener.fileno())
    for _ in range(TURNS):
        await asyncio.sleep(0)
    server.close()
