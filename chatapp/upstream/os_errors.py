"""Describe connection errors in plain words, to end a sentence with.

Errors of the operating system and of TLS contain numbers and names such as "[Errno 111]" and
"[SSL: WRONG_VERSION_NUMBER]", which mean nothing to most people.
"""

import errno
import re
import socket
import ssl

UNREACHABLE = {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EADDRNOTAVAIL}
_NUMBER = re.compile(r"\[(Errno -?\d+|SSL[^]]*)\] ")


def describe_error(error: BaseException) -> str:
    """Return a clause such as "the connection was refused"."""
    match error:
        case ConnectionRefusedError():
            return "the connection was refused"
        case ConnectionResetError() | BrokenPipeError() | ConnectionAbortedError():
            return "the connection was lost"
        case socket.gaierror():
            return "its host name was not found"
        case ssl.SSLCertVerificationError():
            return f"its certificate is not trusted ({error.verify_message})"
        case ssl.SSLError():
            return "no TLS connection could be made; does it use https?"
        case OSError() if error.errno in UNREACHABLE:
            return "the network can't reach it"
        case _:
            return _NUMBER.sub("", str(error)) or type(error).__name__
