"""The client's address behind proxies, and what of an address a limit counts."""

from ipaddress import ip_network

import pytest

from portal.http.client_address import client_address, is_within, site_of

PROXIES = [ip_network("10.0.0.0/24"), ip_network("fd00::/64")]


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("203.0.113.9", "198.51.100.1", "203.0.113.9"),  # no proxy of ours
        ("10.0.0.7", "", "10.0.0.7"),
        ("10.0.0.7", "198.51.100.1", "198.51.100.1"),
        ("10.0.0.7", "6.6.6.6, 198.51.100.1", "198.51.100.1"),  # 6.6.6.6 is invented
        ("10.0.0.7", "198.51.100.1, 10.0.0.8", "198.51.100.1"),  # two proxies
        ("10.0.0.7", "10.0.0.9, 10.0.0.8", "10.0.0.9"),  # one of us asks
        ("10.0.0.7", "198.51.100.1, unknown", "10.0.0.7"),
        ("10.0.0.7", "198.51.100.1,, 10.0.0.8", "10.0.0.8"),
        ("10.0.0.7", " 198.51.100.1:4711 ", "198.51.100.1"),
        ("10.0.0.7", "[2001:db8::1]:443", "2001:db8::1"),
        ("10.0.0.7", "2001:db8::1", "2001:db8::1"),
        ("::ffff:10.0.0.7", "198.51.100.1", "198.51.100.1"),
        ("fd00::1%eth0", "198.51.100.1", "198.51.100.1"),
        ("", "198.51.100.1", ""),  # a Unix socket has no address that could be trusted
    ],
)
def test_the_first_that_is_no_proxy_is_the_client(
    peer: str, forwarded: str, client: str
) -> None:
    assert client_address(peer, forwarded, PROXIES) == client


def test_without_proxies_nobody_is_believed() -> None:
    assert client_address("10.0.0.7", "198.51.100.1", []) == "10.0.0.7"


@pytest.mark.parametrize(
    ("address", "site"),
    [
        ("198.51.100.1", "198.51.100.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("::ffff:198.51.100.1", "198.51.100.1"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("unix:", "unix:"),
    ],
)
def test_a_limit_counts_a_site(address: str, site: str) -> None:
    assert site_of(address) == site


@pytest.mark.parametrize("text", ["", "ten", "10.0.0.7.8", "[", "]:", "\0", "1" * 5000])
def test_what_is_no_address_is_within_nothing(text: str) -> None:
    assert not is_within(text, PROXIES)
