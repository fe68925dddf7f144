"""The client's address of a request: forwarded headers count from a trusted proxy only.

`REMOTE_ADDR` is the client's address from here on, for rate limits and logs.
"""

from collections.abc import Callable, Sequence
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

Network = IPv4Network | IPv6Network
SITE_PREFIX = 64  # bits of the IPv6 network of one customer
# Only a proxy sets these; other clients could set any value.
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
        peer: the address of the connection; "" for a Unix socket.
        forwarded: the header `X-Forwarded-For`: client, proxy, proxy, ...
        trusted: the networks of trusted proxies.

    Returns:
        Counted from the right, the first address that is not a trusted proxy. An entry that is
        not an address ends the search: entries to its left are not trusted.
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
    """True if a text is an address in one of the networks."""
    bare = _bare(address)
    if not bare:
        return False
    parsed = ip_address(bare)
    return any(parsed in network for network in networks)


def _bare(entry: str) -> str:
    """An address without port and brackets; "" if the text is not an address."""
    text = entry.strip()
    if text.startswith("["):  # [2001:db8::1]:4711
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:  # 192.0.2.1:4711
        text = text.partition(":")[0]
    try:
        # fe80::1%eth0 includes its interface
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return ""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)


def site_of(address: str) -> str:
    """The unit of a limit by address: an IPv4 address, or the /64 of an IPv6 one."""
    bare = _bare(address)
    if ":" not in bare:
        return bare or address
    return str(ip_network(f"{bare}/{SITE_PREFIX}", strict=False))


class ClientAddressMiddleware:
    """Sets `REMOTE_ADDR` to the client's address; removes headers that only a proxy may set."""

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
            # without trusted proxies, TRUST_FORWARDED_PROTO applies to every client
            if trusted:
                request.META.pop("HTTP_X_FORWARDED_PROTO", None)
        return self.get_response(request)
