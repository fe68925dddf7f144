"""A connection to an API server as one identity; the only module that uses the client
library. Nothing is retried here: the caller knows whether a retry is safe.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import urllib3
import yaml
from kubernetes import client as kubernetes
from kubernetes import config as kubernetes_config
from urllib3.exceptions import HTTPError

from scheduler_view.clusters.client import transport
from scheduler_view.clusters.client.access import ClusterAccess
from scheduler_view.clusters.client.answers import error_of
from scheduler_view.clusters.client.errors import (
    ClusterError,
    NotConfigured,
    Unauthorized,
)
from scheduler_view.clusters.client.tokens import named

POOL = 16  # connections in the pool of one server


class Session:
    """Sends requests with the credentials of an access; thread-safe.

    Raises:
        NotConfigured: the credentials cannot be read.
    """

    def __init__(self, access: ClusterAccess) -> None:
        self.access = access
        self._api = kubernetes.ApiClient(_configuration(access))
        self._api.user_agent = "gpu-ledger"

    def close(self) -> None:
        """Close the connections."""
        self._api.close()  # type: ignore[no-untyped-call]  # the library has no types

    @contextmanager
    def open(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | Sequence[Any] | None = None,
        content_type: str = "",
        *,
        timeout_s: float | None = None,
    ) -> Iterator[urllib3.HTTPResponse]:
        """A successful response, whose body is not read yet; closed afterwards."""
        timeout_s = timeout_s or self.access.timeout_s
        deadline = time.monotonic() + timeout_s
        raw: urllib3.HTTPResponse | None = None
        try:
            raw = self._send(method, path, query, body, content_type, timeout_s)
            if not 200 <= raw.status < 300:
                text = transport.read(raw, deadline, timeout_s)
                raise self._error(error_of(raw.status, text, raw.headers))
            yield raw
        except (HTTPError, OSError) as error:
            raise transport.failure(error, timeout_s) from error
        finally:
            if raw is not None:
                _give_back(raw)

    def _error(self, error: ClusterError) -> ClusterError:
        if isinstance(error, Unauthorized):
            return named(error, self.access, datetime.now(UTC))
        return error

    def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        body: Mapping[str, Any] | Sequence[Any] | None,
        content_type: str,
        timeout_s: float,
    ) -> urllib3.HTTPResponse:
        headers = {"Accept": "application/json"}
        if content_type:
            headers["Content-Type"] = content_type
        try:
            request = self._api.param_serialize(
                method,
                path,
                query_params=list((query or {}).items()),
                header_params=headers,
                body=body,
                auth_settings=["BearerToken"],
            )
        except (kubernetes_config.ConfigException, OSError, yaml.YAMLError) as error:
            # The library reads rotated tokens again before a request.
            raise _unreadable(self.access, error) from error
        try:
            answer = self._api.call_api(
                *request,
                _request_timeout=(
                    min(transport.CONNECT_TIMEOUT_S, timeout_s),
                    timeout_s,
                ),
            )
        except kubernetes.ApiException as error:  # how the library marks TLS errors
            raise transport.failure(
                error.__context__
                if isinstance(error.__context__, HTTPError)
                else HTTPError(str(error.reason)),
                timeout_s,
            ) from error
        raw: urllib3.HTTPResponse = answer.response
        return raw


def _configuration(access: ClusterAccess) -> kubernetes.Configuration:
    # Proxies come from a kubeconfig, never from the environment of a worker.
    found = kubernetes.Configuration(proxy="", no_proxy="")
    try:
        if access.in_cluster:
            kubernetes_config.load_incluster_config(  # type: ignore[no-untyped-call]  # the library has no types
                client_configuration=found
            )
        elif access.kubeconfig:
            kubernetes_config.load_kube_config(  # type: ignore[no-untyped-call]  # the library has no types
                config_file=str(Path(access.kubeconfig).expanduser()),
                context=access.context or None,
                client_configuration=found,
                persist_config=False,
            )
        else:
            _set_server(found, access)
    except (
        kubernetes_config.ConfigException,
        OSError,
        yaml.YAMLError,
        ValueError,
        TypeError,
    ) as error:
        raise _unreadable(access, error) from error
    found.retries = False  # no retry and no redirect: the caller decides
    found.connection_pool_maxsize = POOL
    return found


def _set_server(found: kubernetes.Configuration, access: ClusterAccess) -> None:
    found.host = access.server.rstrip("/")
    if access.ca_file:
        Path(access.ca_file).read_bytes()  # fails here, with the file's name
        found.ssl_ca_cert = access.ca_file
    if access.token_file:
        _read_token(found, access.token_file)
        found.refresh_api_key_hook = (  # the library types only its default, None
            lambda one: _read_token(one, access.token_file)  # type: ignore[assignment]  # see above
        )


def _read_token(found: kubernetes.Configuration, path: str) -> None:
    """Tokens of service accounts rotate: the file is read again before each request."""
    found.api_key["BearerToken"] = f"Bearer {Path(path).read_text().strip()}"


def _unreadable(access: ClusterAccess, error: Exception) -> NotConfigured:
    place = f"cluster {access.cluster!r}: kubernetes.{access.role.value}"
    return NotConfigured(f"{place}: the credentials cannot be read: {error}")


def _give_back(raw: urllib3.HTTPResponse) -> None:
    """Keep the connection if its response was read to the end, else close it."""
    if raw.length_remaining or not raw.closed:
        raw.close()
    raw.release_conn()
