# SPDX-License-Identifier: MIT
"""What the middlewares share: who a client is, and what it is told when it is refused."""

from __future__ import annotations

import ipaddress

from libweir._errors import seconds
from libweir._weir import Decision

REFUSED = 429


def address_key(address: str) -> str:
    """An IPv4 address, also one in IPv6; of IPv6 the first 64 bits, the network of one customer."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(ip, ipaddress.IPv6Address):
        return str(ip.ipv4_mapped or ipaddress.IPv6Address(int(ip) >> 64 << 64))
    return str(ip)


def answer(decision: Decision) -> bytes:
    if decision.verdict == "deny":
        return f"Too many requests: again in {seconds(decision.retry)} s\n".encode()
    return b"Too many requests: so much can never pass\n"
