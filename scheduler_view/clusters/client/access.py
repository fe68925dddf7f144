"""Access to a cluster: its addresses and two identities, with files instead of secrets.

`Cluster.kubernetes` has, for each of `reader` and `pusher`, one of

    {in_cluster: true}                              the pod's own service account
    {kubeconfig: PATH, context: NAME}               a file of kubectl's form
    {server: URL, token_file: PATH, ca_file: PATH}  the same without a kubeconfig

and `timeout_s` for one call. The reader may only read; the pusher writes quotas and
priority classes (deploy/rbac). Only workers have these files; the web process has none.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from scheduler_view.clusters.client.errors import NotConfigured

TIMEOUT_S, LONGEST_TIMEOUT_S = 10.0, 60.0
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_WAYS = (
    frozenset({"in_cluster"}),
    frozenset({"kubeconfig", "context"}),
    frozenset({"server", "token_file", "ca_file"}),
)


class AccessRole(StrEnum):
    """The account for the API server."""

    READER = "reader"
    PUSHER = "pusher"


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """One identity at one API server; exactly one of the three forms is set.

    Attributes:
        cluster: its name, for messages.
        timeout_s: for one call, from connecting to the last byte.
    """

    cluster: str
    role: AccessRole
    in_cluster: bool = False
    kubeconfig: str = ""
    context: str = ""
    server: str = ""
    token_file: str = ""
    ca_file: str = ""
    timeout_s: float = TIMEOUT_S


def is_configured(settings: Mapping[str, Any], role: AccessRole) -> bool:
    """True if a cluster has an access for a role."""
    return bool(settings.get(role.value))


def access_of(
    cluster: str, settings: Mapping[str, Any], role: AccessRole
) -> ClusterAccess:
    """The access of a role in a cluster's settings.

    Raises:
        NotConfigured: it is missing or not valid; the message says what and where.
    """
    given = settings.get(role.value)
    place = f"cluster {cluster!r}: kubernetes.{role.value}"
    if not given:
        raise NotConfigured(
            f"{place} is not set, so the API of the cluster is not accessible"
        )
    if not isinstance(given, Mapping) or not any(set(given) <= way for way in _WAYS):
        raise NotConfigured(
            f"{place} is `in_cluster: true`, or `kubeconfig` and `context`, "
            "or `server`, `token_file` and `ca_file`"
        )
    if not all(isinstance(value, str | bool) for value in given.values()):
        raise NotConfigured(f"{place}: values must be texts, except `in_cluster: true`")
    access = ClusterAccess(
        cluster, role, timeout_s=_timeout_s(place, settings), **given
    )
    if not (access.in_cluster is True or access.kubeconfig or access.server):
        raise NotConfigured(f"{place} has neither `kubeconfig` nor `server`")
    if access.server:
        _check_server(place, access)
    return access


def _timeout_s(place: str, settings: Mapping[str, Any]) -> float:
    given = settings.get("timeout_s", TIMEOUT_S)
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if not is_number or not 0 < given <= LONGEST_TIMEOUT_S:
        raise NotConfigured(
            f"{place}: timeout_s must be a number of seconds greater than 0 and at most "
            f"{LONGEST_TIMEOUT_S:g}"
        )
    return float(given)


def _check_server(place: str, access: ClusterAccess) -> None:
    """A token is only sent over an encrypted connection."""
    url = urlsplit(access.server)
    is_safe = url.scheme == "https" or (
        url.scheme == "http" and url.hostname in _LOOPBACK
    )
    if not is_safe or not url.hostname:
        raise NotConfigured(f"{place}.server must start with https://")
