"""Tokens of clusters: warned a week and a day before they expire, as data issues."""

import base64
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from accounting.metering.models.cluster import Cluster
from accounting.metering.models.ledger import DataIssue
from scheduler_view.clusters.client.access import AccessRole, access_of
from scheduler_view.clusters.client.tokens import token_of
from scheduler_view.queues.tasks.look import observe_once
from tests.integration.conftest import SignIn
from tests.page_html import html_of

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)


def jwt(left: timedelta, life: timedelta = 30 * DAY) -> str:
    expires = NOW + left
    claims = {
        "iat": int((expires - life).timestamp()),
        "exp": int(expires.timestamp()),
    }
    return written(json.dumps(claims))


def written(claims: str) -> str:
    """A token whose content is this text."""
    text = base64.urlsafe_b64encode(claims.encode()).decode().rstrip("=")
    return f"e30.{text}.c2ln"


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    """A server that does not answer: tokens are read from files."""
    access: dict[str, Any] = {"server": "http://127.0.0.1:9"}
    for role in ("reader", "pusher"):
        (tmp_path / role).write_text(jwt(20 * DAY))
    return Cluster.objects.create(
        name="tokens-cluster",
        kubernetes={
            "timeout_s": 0.2,
            "reader": access | {"token_file": str(tmp_path / "reader")},
            "pusher": access | {"token_file": str(tmp_path / "pusher")},
        },
    )


def issues(cluster: Cluster, at: datetime = NOW) -> list[tuple[str, str]]:
    """Severity and message of what a look at the cluster leaves open."""
    observe_once(cluster, now=lambda: at)
    rows = DataIssue.objects.filter(cluster=cluster, code="cluster_token")
    return [
        (row.severity, row.message)
        for row in rows.filter(resolved_at=None).order_by("subject")
    ]


@pytest.mark.parametrize(
    ("left", "life", "severity"),
    [
        (8 * DAY, 30 * DAY, None),
        (6 * DAY, 30 * DAY, "warning"),
        (DAY / 2, 30 * DAY, "error"),
        (-DAY, 30 * DAY, "error"),
        (6 * DAY, 6 * DAY, None),  # a week before its end, it did not exist
        (DAY / 2, 6 * DAY, "error"),
        (DAY / 48, DAY / 24, None),  # renewed each hour by the kubelet
        (-DAY / 48, DAY / 24, "error"),
    ],
)
def test_a_token_is_warned_of_a_week_and_a_day_before_its_end(
    cluster: Cluster,
    tmp_path: Path,
    left: timedelta,
    life: timedelta,
    severity: str | None,
) -> None:
    file = tmp_path / "pusher"
    file.write_text(jwt(left, life))
    found = issues(cluster)
    if severity is None:
        assert found == []
        return
    verb = "expired" if left < timedelta() else "expires"
    text = (
        f"The token of the pusher in {file} {verb} at {NOW + left:%Y-%m-%d %H:%M} UTC."
    )
    assert found == [(severity, text)]
    file.write_text(jwt(25 * DAY))
    assert issues(cluster) == []  # it was renewed
    row = DataIssue.objects.get(code="cluster_token")
    assert row.resolved_at is not None


def test_it_is_on_the_page_of_data_health(
    cluster: Cluster, tmp_path: Path, sign_in: SignIn
) -> None:
    (tmp_path / "reader").write_text(jwt(3 * DAY))
    issues(cluster)
    page = html_of(sign_in("ana").get("/data-health"))
    assert "Token of a cluster expires" in page
    assert f"The token of the reader in {tmp_path}/reader expires at" in page


@pytest.mark.parametrize(
    "text",
    [
        *("", "static", "a.b.c", "e30.W10.c2ln", "e30.eyJleHAiOiAieCJ9.c2ln"),
        *map(written, ('{"exp": -62135596800}', '{"exp": 1e999}', '{"exp": NaN}')),
        written(f'{{"exp": 1{"0" * 400}}}'),
        pytest.param(written("[" * 200_000), id="deep"),
    ],
)
def test_other_tokens_have_no_end(cluster: Cluster, tmp_path: Path, text: str) -> None:
    (tmp_path / "pusher").write_text(text)
    assert issues(cluster) == []


def test_a_kubeconfig_and_a_missing_file(cluster: Cluster, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(
        json.dumps(
            {
                "current-context": "north",
                "contexts": [{"name": "north", "context": {"user": "u"}}],
                "users": [{"name": "u", "user": {"token": jwt(DAY / 2)}}],
            }
        )
    )
    cluster.kubernetes |= {"reader": {"kubeconfig": str(config)}}
    (tmp_path / "pusher").unlink()
    ((severity, text),) = issues(cluster)
    assert severity == "error"
    assert f"The token of the reader in {config} expires" in text


def of_user(user: Any, name: Any = "north") -> dict[str, Any]:
    """A kubeconfig."""
    context = {"name": name, "context": {"user": "u"}}
    users = [{"name": "u", "user": user}]
    return {"current-context": "north", "contexts": [context], "users": users}


@pytest.mark.parametrize(
    "config",
    [
        of_user({"token": 12345}),
        of_user({"tokenFile": 5}),
        of_user("text"),
        {"current-context": "north", "contexts": [{}]},
        {"current-context": "north", "contexts": [{"name": "north"}], "users": [{}]},
        {"contexts": 3},
        [],
    ],
)
def test_a_kubeconfig_of_another_form_has_no_token(
    cluster: Cluster, tmp_path: Path, config: Any
) -> None:
    (tmp_path / "config").write_text(json.dumps(config))
    access = access_of(
        cluster.name,
        {"reader": {"kubeconfig": str(tmp_path / "config")}},
        AccessRole.READER,
    )
    assert token_of(access) is None


def test_a_token_file_lies_beside_its_kubeconfig(
    cluster: Cluster, tmp_path: Path
) -> None:
    (tmp_path / "config").write_text(json.dumps(of_user({"tokenFile": "reader"})))
    (tmp_path / "reader").write_text(jwt(DAY / 2))
    cluster.kubernetes |= {"reader": {"kubeconfig": str(tmp_path / "config")}}
    ((severity, text),) = issues(cluster)
    assert severity == "error"
    assert f"The token of the reader in {tmp_path}/reader expires at" in text
