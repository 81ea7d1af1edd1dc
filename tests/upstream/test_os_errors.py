"""Connection errors are described without the operating system's error numbers."""

import errno
import os
import socket
import ssl

import pytest

from chatapp.upstream.os_errors import describe_error


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
def test_an_error_is_described_in_words(error: Exception, words: str) -> None:
    description = describe_error(error)
    assert words in description
    assert "Errno" not in description
    assert "[" not in description
