"""A machine that is gone ends no connection. Both ends must find out by themselves.

Aspects: what the kernel was told, at both ends. Not here: a cable that is cut
(`bench/two_hosts.py`).
"""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from django.conf import settings
from django.db.backends.postgresql.base import DatabaseWrapper

from portal.env import database_settings
from tests.tcp_postgres import postgres_at

NOTICED_S = 120  # by both, whatever the connection was doing


@pytest.fixture
def over_network(tmp_path: Path) -> Iterator[psycopg.Connection]:
    """A connection of the product over TCP."""
    number = os.getpid()
    address = f"127.213.{number >> 8 & 255}.{number & 255}"
    with postgres_at(address, 8, tmp_path) as url:
        options = settings.DATABASES["default"]["OPTIONS"]
        wanted = {**settings.DATABASES["default"], **database_settings(url)}
        ours = DatabaseWrapper({**wanted, "OPTIONS": options}).get_connection_params()
        with psycopg.connect(**ours) as found:
            yield found


def test_both_ends_give_a_lost_machine_up(over_network: psycopg.Connection) -> None:
    found = over_network.execute(
        "SELECT name, setting::int FROM pg_settings WHERE name ~ '^tcp_'"
    ).fetchall()
    theirs: dict[str, int] = dict(found)
    with socket.socket(fileno=os.dup(over_network.fileno())) as own:
        idle, every, count, given_up = (
            own.getsockopt(socket.IPPROTO_TCP, option)
            for option in (
                socket.TCP_KEEPIDLE,
                socket.TCP_KEEPINTVL,
                socket.TCP_KEEPCNT,
                socket.TCP_USER_TIMEOUT,
            )
        )
    quiet_s = theirs["tcp_keepalives_idle"] + (
        theirs["tcp_keepalives_interval"] * theirs["tcp_keepalives_count"]
    )
    assert idle + every * count == quiet_s == NOTICED_S
    assert given_up == theirs["tcp_user_timeout"] == NOTICED_S * 1000
