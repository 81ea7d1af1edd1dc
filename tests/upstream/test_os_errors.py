"""What kept a connection from being made, told without the numbers of the operating system."""

import errno
import os
import socket
import ssl

import pytest

from chatapp.upstream.os_errors import words_of


def by_number(number: int) -> OSError:
    return OSError(number, os.strerror(number))


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (by_number(errno.ECONNREFUSED), "the connection was refused"),
        (by_number(errno.ECONNRESET), "the connection was lost"),
        (by_number(errno.EPIPE), "the connection was lost"),
        (by_number(errno.EHOSTUNREACH), "the network can't reach it"),
        (by_number(errno.EMFILE), "Too many open files"),
        (socket.gaierror(socket.EAI_NONAME, "Name unknown"), "its host name was not found"),
        (ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong"), "no TLS connection could be made"),
        (OSError("the address of a.example was not found"), "the address of a.example"),
        (ValueError(), "ValueError"),
    ],
)
def test_what_failed_is_told_in_words(error: Exception, words: str) -> None:
    told = words_of(error)
    assert words in told
    assert "Errno" not in told
    assert "[" not in told
