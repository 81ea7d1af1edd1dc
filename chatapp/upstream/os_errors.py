"""What kept a connection from being made, in the words of a sentence's end.

The operating system and TLS have numbers and names of their own for it, "[Errno 111]" and
"[SSL: WRONG_VERSION_NUMBER]", which tell a person nothing.
"""

import errno
import re
import socket
import ssl

UNREACHABLE = {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EADDRNOTAVAIL}
_NUMBER = re.compile(r"\[(Errno -?\d+|SSL[^]]*)\] ")


def words_of(error: BaseException) -> str:
    match error:
        case ConnectionRefusedError():
            return "the connection was refused"
        case ConnectionResetError() | BrokenPipeError() | ConnectionAbortedError():
            return "the connection was broken off"
        case socket.gaierror():
            return "its host name is not known"
        case ssl.SSLCertVerificationError():
            return f"its certificate is not trusted ({error.verify_message})"
        case ssl.SSLError():
            return "no TLS connection could be made; is it https at all?"
        case OSError() if error.errno in UNREACHABLE:
            return "the network does not reach it"
        case _:
            return _NUMBER.sub("", str(error)) or type(error).__name__
