"""What `Cluster.kubernetes` may say, and what it may not."""

from typing import Any

import pytest

from scheduler_view.clusters.client.access import AccessRole, access_of, is_configured
from scheduler_view.clusters.client.client import connect
from scheduler_view.clusters.client.errors import NotConfigured

SERVER = {"server": "https://api.example:6443", "token_file": "/run/token"}


def test_reader_and_pusher_are_apart() -> None:
    settings = {"reader": {"in_cluster": True}, "pusher": SERVER, "timeout_s": 3}
    reader = access_of("east", settings, AccessRole.READER)
    pusher = access_of("east", settings, AccessRole.PUSHER)
    assert (reader.in_cluster, reader.server, reader.timeout_s) == (True, "", 3.0)
    assert (pusher.in_cluster, pusher.server) == (False, SERVER["server"])


def test_a_cluster_may_have_no_access() -> None:
    assert not is_configured({}, AccessRole.READER)
    with pytest.raises(NotConfigured, match=r"'east'.*kubernetes\.pusher is not set"):
        access_of("east", {"reader": {"in_cluster": True}}, AccessRole.PUSHER)


@pytest.mark.parametrize(
    "given",
    [
        {"token": "secret"},
        {"in_cluster": True, "server": "https://x"},
        {"in_cluster": False},
        {"kubeconfig": ""},
        {"context": "a"},
        {"kubeconfig": ["a"]},
        {"server": "http://api.example"},
        {"server": "ftp://127.0.0.1"},
        "in_cluster",
    ],
)
def test_what_is_wrong_is_refused(given: Any) -> None:
    with pytest.raises(NotConfigured, match=r"cluster 'east': kubernetes\.reader"):
        access_of("east", {"reader": given}, AccessRole.READER)


@pytest.mark.parametrize("timeout_s", [0, -1, 61, "5", True, None])
def test_a_wrong_deadline_is_refused(timeout_s: Any) -> None:
    with pytest.raises(NotConfigured, match="timeout_s"):
        access_of("a", {"reader": SERVER, "timeout_s": timeout_s}, AccessRole.READER)


def test_credentials_that_cannot_be_read_are_named(tmp_path: Any) -> None:
    wrong = tmp_path / "kubeconfig"
    wrong.write_text("a: [")
    for given in (
        {"kubeconfig": str(tmp_path / "missing")},
        {"kubeconfig": str(wrong)},
        {"in_cluster": True},
        SERVER | {"token_file": str(tmp_path / "missing")},
        SERVER | {"token_file": str(wrong), "ca_file": str(tmp_path / "missing")},
    ):
        access = access_of("east", {"reader": given}, AccessRole.READER)
        with pytest.raises(NotConfigured, match="credentials cannot be read"):
            connect(access)
