"""Stopping a test's server without leaving a socket open."""

import asyncio

TURNS = 5  # turns of the loop in which an accepted socket becomes a connection with its task


async def stop_listening(server: asyncio.Server) -> None:
    """Close the server once every accepted socket is a connection of its own.

    If it is closed in the turn in which it accepts, asyncio's server drops the socket unclosed
    (python/cpython#109564), and the warning fails whichever test runs next.
    """
    loop = asyncio.get_running_loop()
    for listener in server.sockets:
        loop.remove_reader(listener.fileno())
    for _ in range(TURNS):
        await asyncio.sleep(0)
    server.close()
