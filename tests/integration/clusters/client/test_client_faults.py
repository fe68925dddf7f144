"""Every way in which an API server fails to answer, and what our door makes of it.

Whatever happens, a call ends within its deadline and says what is known of its outcome.
"""

import socket
import threading
import time
from pathlib import Path

import pytest

from scheduler_view.clusters.client.access import AccessRole, ClusterAccess
from scheduler_view.clusters.client.client import ClusterClient, connect
from scheduler_view.clusters.client.errors import (
    ClusterError,
    Forbidden,
    InvalidServerResponse,
    NotConfigured,
    ServerError,
    TlsFailure,
    TooManyRequests,
    Unauthorized,
    Unreachable,
    WatchExpired,
)
from scheduler_view.clusters.rules.live_objects import QUOTA
from tests.control_plane.faulty import failing, proxy, response
from tests.control_plane.server import ADMIN, ControlPlane
from tests.control_plane.world import GPU_KEY, World, quota

SHORT_S = 0.5
SLACK_S = 2.0  # of a busy machine


def door_to(url: str, timeout_s: float = SHORT_S) -> ClusterClient:
    return connect(
        ClusterAccess("test", AccessRole.PUSHER, server=url, timeout_s=timeout_s)
    )


@pytest.mark.parametrize(
    ("fault", "how"),
    [({}, "timeout"), ({"is_reset": True}, "reset"), ({"answer": b""}, "timeout")],
    ids=["hang", "reset", "nothing"],
)
def test_a_write_that_got_no_answer_may_have_happened(fault: dict, how: str) -> None:  # type: ignore[type-arg]
    began = time.monotonic()
    with (
        failing(**fault) as server,
        door_to(server.url) as client,
        pytest.raises(Unreachable) as caught,
    ):
        client.apply(quota("a", {GPU_KEY: "1"}))
    assert len(server.seen) == 1, "a write is never sent twice"
    assert caught.value.how == how
    assert caught.value.is_temporary
    assert caught.value.is_outcome_unknown
    assert time.monotonic() - began < SHORT_S + SLACK_S


def test_an_answer_that_drips_is_cut_off() -> None:
    began = time.monotonic()
    slow = response(200, b'{"metadata": {}}' * 100)
    with (
        failing(slow, drip_s=0.02) as server,
        door_to(server.url) as client,
        pytest.raises(Unreachable, match="no response within") as caught,
    ):
        client.list(QUOTA)
    assert caught.value.how == "timeout"
    assert time.monotonic() - began < 2 * SHORT_S + SLACK_S


def test_half_an_answer_is_none() -> None:
    with (
        failing(response(200, b'{"kind": "Resou')) as server,
        door_to(server.url) as client,
        pytest.raises(InvalidServerResponse),
    ):
        client.get(QUOTA, "a", "b")
    cut = response(200, b'{"kind": "ResourceQuota"}')[:-5]
    with (
        failing(cut) as server,
        door_to(server.url) as client,
        pytest.raises(Unreachable),
    ):
        client.get(QUOTA, "a", "b")


def test_a_server_that_stops_while_tls_begins_is_tried_again() -> None:
    """It is killed or restarted; nothing is wrong with its certificate."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        stopping = threading.Thread(target=_stop_at_hello, args=(listener,))
        stopping.start()
        url = f"https://127.0.0.1:{listener.getsockname()[1]}"
        with door_to(url, 5) as client, pytest.raises(Unreachable) as caught:
            client.apply(quota("a", {GPU_KEY: "1"}))
        stopping.join()
    assert caught.value.how == "reset"
    assert caught.value.is_temporary


def _stop_at_hello(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    with connection:
        assert connection.recv(65536).startswith(b"\x16"), "the hello of TLS"


def test_nobody_listens() -> None:
    with door_to("http://127.0.0.1:1") as client, pytest.raises(Unreachable) as caught:
        client.version()
    assert caught.value.how == "refused"
    assert not caught.value.is_outcome_unknown


@pytest.mark.parametrize("code", [200, 302, 418])
def test_a_page_for_people_is_no_answer(code: int) -> None:
    html = response(code, b"<html>Sign in</html>", "Location: https://sign.in/")
    with (
        failing(html) as server,
        door_to(server.url) as client,
        pytest.raises(InvalidServerResponse, match="Sign in"),
    ):
        client.list(QUOTA)
    assert len(server.seen) == 1, "a redirect is not followed"


@pytest.mark.parametrize("code", [500, 502, 503, 504])
def test_a_server_error_keeps_the_servers_words(code: int) -> None:
    with (
        failing(response(code, b"etcd is ill", "Retry-After: 2")) as server,
        door_to(server.url) as client,
        pytest.raises(ServerError) as caught,
    ):
        client.list(QUOTA)
    assert (caught.value.code, caught.value.message) == (code, "etcd is ill")
    assert caught.value.retry_after_s == 2.0


def test_too_many_requests_say_how_long_to_wait_and_did_nothing() -> None:
    busy = response(429, b"Too many requests", "Retry-After: 60")
    with failing(busy) as server, door_to(server.url) as client:
        began = time.monotonic()
        with pytest.raises(TooManyRequests) as caught:
            client.apply(quota("a", {GPU_KEY: "1"}))
        assert len(server.seen) == 1
    assert caught.value.retry_after_s == 60.0
    assert not caught.value.is_outcome_unknown
    assert time.monotonic() - began < SLACK_S, "the door does not wait for a minute"


def test_a_watch_of_a_version_that_is_gone() -> None:
    line = (
        b'{"type":"ERROR","object":{"kind":"Status","code":410,'
        b'"reason":"Expired","message":"too old resource version: 1"}}\n'
    )
    with (
        failing(response(200, line)) as server,
        door_to(server.url) as client,
        pytest.raises(WatchExpired, match="too old"),
    ):
        list(client.watch(QUOTA, "1", for_s=5))


def test_a_list_that_grew_too_old_is_begun_again_three_times() -> None:
    gone = b'{"kind":"Status","code":410,"message":"The provided continue parameter"}'
    with (
        failing(response(410, gone)) as server,
        door_to(server.url) as client,
        pytest.raises(WatchExpired),
    ):
        client.list(QUOTA)
    assert len(server.seen) == 3


def test_wrong_credentials(world: World) -> None:
    with world.client("wrong-token") as client, pytest.raises(Unauthorized) as caught:
        client.list(QUOTA)
    assert caught.value.code == 401


def test_known_and_not_allowed(world: World) -> None:
    with (
        world.client("stranger-token") as client,
        pytest.raises(Forbidden, match='User "stranger" cannot') as caught,
    ):
        client.apply(quota(world.name, {GPU_KEY: "1"}))
    assert not client.may("patch", QUOTA, world.name)
    assert caught.value.code == 403
    with world.client() as client:
        assert client.may("patch", QUOTA, world.name)


def test_a_token_file_is_read_again_for_each_request(world: World) -> None:
    with world.client("stranger-token") as client:
        path = Path(client.access.token_file)
        with pytest.raises(Forbidden):
            client.apply(quota(world.name, {GPU_KEY: "1"}))
        path.write_text(ADMIN)
        client.apply(quota(world.name, {GPU_KEY: "1"}))
        path.unlink()
        with pytest.raises(NotConfigured, match="credentials cannot be read"):
            client.list(QUOTA)


@pytest.mark.control_plane
def test_a_certificate_that_is_not_trusted(real: World) -> None:
    access = ClusterAccess("test", AccessRole.READER, server=real.url, timeout_s=5)
    with connect(access) as client, pytest.raises(TlsFailure) as caught:
        client.version()
    assert "certificate" in caught.value.message.lower()
    assert not caught.value.is_outcome_unknown


def test_plain_text_where_tls_is_spoken() -> None:
    with failing(b"HTTP/1.1 400 Bad Request\r\n\r\n") as server:
        url = server.url.replace("http://", "https://")
        with door_to(url, 3) as client, pytest.raises(TlsFailure):
            client.version()


@pytest.mark.control_plane
def test_a_kubeconfig_gives_access(real: World, whole_cluster: ControlPlane) -> None:
    path = whole_cluster.kubeconfig()
    access = ClusterAccess(
        "test", AccessRole.READER, kubeconfig=str(path), context="test"
    )
    with connect(access) as client:
        assert client.version() == "v1.34.4"
        assert client.get("Namespace", real.name).uid
    wrong = ClusterAccess(
        "test", AccessRole.READER, kubeconfig=str(path), context="nope"
    )
    with pytest.raises(NotConfigured, match="nope"):
        connect(wrong)


@pytest.mark.control_plane
def test_connections_that_broke_are_made_anew(
    real: World, whole_cluster: ControlPlane
) -> None:
    """A kept connection that a proxy has dropped costs one error, not the door."""
    with (
        proxy(whole_cluster.port) as between,
        real.client(url=f"https://127.0.0.1:{between.port}") as client,
    ):
        client.list(QUOTA, real.name)
        client.list(QUOTA, real.name)
        assert between.connections == 1, "connections are kept"
        between.cut()
        time.sleep(0.1)
        _try_twice(client, real.name)
        assert between.connections == 2


def _try_twice(client: ClusterClient, namespace: str) -> None:
    try:
        client.list(QUOTA, namespace)
    except ClusterError:
        client.list(QUOTA, namespace)
