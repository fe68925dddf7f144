"""Addresses of sources: http and https only, and never the machine's metadata service."""

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

IpAddress = IPv4Address | IPv6Address

# Where cloud providers serve credentials. All are link-local, or belong to one machine;
# no exporter or Prometheus uses them. Loopback and private networks are usual for sources.
METADATA = (
    ip_network("100.100.100.200/32"),  # Alibaba Cloud
    ip_network("fd00:ec2::254/128"),  # AWS, IPv6
    ip_network("fd20:ce::254/128"),  # Google Cloud, IPv6
)
METADATA_NAMES = frozenset({"metadata.google.internal", "metadata.goog"})
CREDENTIALS = (
    "specify credentials as username and password_file, not in the address, and write @ in it"
    " as %40"
)
EXAMPLE = "write http://prometheus:9090 or https://prometheus.example.org"


def fault_of(url: str) -> str:
    """The fault of a source's address, without any of its password; "" if it is valid.

    Names are not resolved: their addresses may change after the check.
    """
    if "@" in url:  # wherever it is taken to be: a password may contain #, / or ?
        return CREDENTIALS
    if not url.isprintable() or " " in url:
        return f"{url!r} contains a space or a control character; {EXAMPLE}"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        return f"{url!r} is not a valid address ({error}); {EXAMPLE}"
    return _fault_of_parts(url, parts, host, port)


def _fault_of_parts(url: str, parts: SplitResult, host: str, port: int | None) -> str:
    if parts.scheme not in ("http", "https"):
        return f"{url!r} must start with http:// or https://"
    if not host or port == 0:
        return f"{url!r} has no host or port; {EXAMPLE}"
    if _is_metadata(host):
        return f"{host!r} is link-local or a metadata service and is not allowed as a source"
    return ""


def _is_metadata(host: str) -> bool:
    name = host.rstrip(".").lower()
    if name in METADATA_NAMES:
        return True
    address = _as_address(name)
    if address is None:
        return False
    return address.is_link_local or any(address in network for network in METADATA)


def _as_address(host: str) -> IpAddress | None:
    """A host that is an address in any spelling that the resolver accepts, such as 0xA9FEA9FE."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        try:
            return IPv4Address(socket.inet_aton(host))
        except OSError:
            return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
