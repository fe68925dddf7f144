"""Addresses of sources: which are accepted, and what is said of the others."""

import pytest

from accounting.metering.sources.address import fault_of


@pytest.mark.parametrize(
    "url",
    [
        "http://prometheus:9090",
        "https://prometheus.example.org/prom/",
        "http://127.0.0.1:9090",
        "http://localhost:9090",
        "http://10.0.0.7:9400/metrics",
        "http://192.168.1.4",
        "http://100.64.0.9:9400",  # shared address space: some clouds give it to nodes
        "http://[::1]:9090",
        "http://[fd00::7]:9400/metrics?x=1",
        "http://[2001:db8::1]/",
        "http://metadata:9090",  # a name that somebody chose
    ],
)
def test_http_and_https_are_accepted(url: str) -> None:
    assert fault_of(url) == ""


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "must start with http"),
        ("file:///etc/passwd", "must start with http"),
        ("httpfile:///etc/passwd", "must start with http"),
        ("ftp://prometheus", "must start with http"),
        ("//prometheus:9090", "must start with http"),
        ("prometheus:9090", "must start with http"),
        ("javascript:alert(1)", "must start with http"),
        ("http:/prometheus", "has no host"),
        ("http://", "has no host"),
        ("http://:9090", "has no host"),
        ("http://prometheus:0", "has no host or port"),
        ("http://prometheus:ninety", "not a valid address"),
        ("http://prometheus:99999", "not a valid address"),
        ("http://[::1", "not a valid address"),
        ("http://ana:secret@prometheus", "username and password_file"),
        ("http://prom etheus", "a space"),
        ("http://prometheus/\r\nHost: x", "control character"),
        ("http://prometheus\0", "control character"),
    ],
)
def test_others_are_refused(url: str, words: str) -> None:
    assert words in fault_of(url)


@pytest.mark.parametrize(
    "host",
    [
        *("169.254.169.254", "169.254.0.1", "169.254.169.254.", "2852039166"),
        *("0xa9fea9fe", "0xA9.0xFE.0xA9.0xFE", "0251.0376.0251.0376", "169.254.43518"),
        *("[fe80::1]", "[fe80::1%25eth0]", "[::ffff:169.254.169.254]"),
        *("[::ffff:a9fe:a9fe]", "[fd00:ec2::254]", "[fd20:ce::254]"),
        *("100.100.100.200", "metadata.google.internal", "Metadata.Google.Internal."),
    ],
)
def test_metadata_services_are_never_sources(host: str) -> None:
    for scheme in ("http", "https"):
        assert "not allowed as a source" in fault_of(
            f"{scheme}://{host}:80/latest/meta-data/"
        )


def test_the_secret_of_an_address_is_not_repeated() -> None:
    for sign in ("", "#x", "/x", "?x", "[x", "\u2100x", " x"):
        fault = fault_of(f"http://ana:secret{sign}@prometheus")
        assert "password_file" in fault
        assert "secret" not in fault
