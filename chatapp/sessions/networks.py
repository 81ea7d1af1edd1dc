"""Networks of people who aren't signed in, to count their attempts."""

from ipaddress import IPv6Address, ip_address


def network_number(address: str) -> int:
    """Return a number for a client's address; the same for the 2**64 that one has with IPv6.

    All addresses that can't be read have one number.
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return 0
    return -(int(parsed) >> 64) - 1 if isinstance(parsed, IPv6Address) else int(parsed)
