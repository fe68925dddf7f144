"""Which address a request comes from: forwarded headers count from a trusted proxy only.

`REMOTE_ADDR` is the client's address from here on, for rate limits and for logs alike.
"""

from collections.abc import Callable, Sequence
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

Network = IPv4Network | IPv6Network
SITE_PREFIX = (
    64  # bits of IPv6 that one customer has: addresses within it are free to them
)
# Only a proxy sets these; from anybody else they are invented.
PROXY_HEADERS = (
    "HTTP_X_FORWARDED_FOR",
    "HTTP_X_FORWARDED_HOST",
    "HTTP_X_FORWARDED_PORT",
    "HTTP_FORWARDED",
    "HTTP_X_REAL_IP",
)


def client_address(peer: str, forwarded: str, trusted: Sequence[Network]) -> str:
    """The address of the client behind trusted proxies.

    Args:
        peer: the address that the connection comes from; "" for a Unix socket.
        forwarded: the header `X-Forwarded-For`: client, proxy, proxy, ...
        trusted: the networks of trusted proxies.

    Returns:
        Counted from the right, the first address that is not a trusted proxy. An entry that is
        not an address ends the search: what is left of it is not trusted.
    """
    found = peer
    for entry in reversed([peer, *forwarded.split(",")][1:]):
        if not is_within(found, trusted):
            break
        address = _bare(entry)
        if not address:
            break
        found = address
    return found


def is_within(address: str, networks: Sequence[Network]) -> bool:
    """True when a text is an address within one of the networks."""
    bare = _bare(address)
    if not bare:
        return False
    parsed = ip_address(bare)
    return any(parsed in network for network in networks)


def _bare(entry: str) -> str:
    """An address without port and brackets; "" where the text is none."""
    text = entry.strip()
    if text.startswith("["):  # [2001:db8::1]:4711
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:  # 192.0.2.1:4711
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])  # fe80::1%eth0 names its interface
    except ValueError:
        return ""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)


def site_of(address: str) -> str:
    """What a limit by address counts: an IPv4 address, or the /64 of an IPv6 one."""
    bare = _bare(address)
    if ":" not in bare:
        return bare or address
    return str(ip_network(f"{bare}/{SITE_PREFIX}", strict=False))


class ClientAddressMiddleware:
    """Puts the client's address into `REMOTE_ADDR`; strips what only a proxy may say."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        trusted: Sequence[Network] = settings.TRUSTED_PROXIES
        peer = request.META.get("REMOTE_ADDR", "")
        if is_within(peer, trusted):
            forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "")
            if forwarded:
                request.META["REMOTE_ADDR"] = client_address(peer, forwarded, trusted)
        else:
            for name in PROXY_HEADERS:
                request.META.pop(name, None)
            if trusted:  # without any, TRUST_FORWARDED_PROTO applies to every client
                request.META.pop("HTTP_X_FORWARDED_PROTO", None)
        return self.get_response(request)
