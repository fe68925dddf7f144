"""An owner or a label of a namespace that kube-state shows late, after hours were rolled up.

It counts for all time of the pod (rules.md N24, N25), in whatever order files are read (I2).
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.builders import HOUR_ZERO, Text, times
from tests.integration.metering.support import clear, report, run

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = 3600
START, LATE, END = HOUR_ZERO, HOUR_ZERO + 3 * HOUR, HOUR_ZERO + 4 * HOUR
SETUP = """
teams: [{slug: vision, name: Vision}]
bindings: [{namespace_label: team, glob: vision, team: vision}]
"""


def owned_by(kind: str, name: str) -> dict[str, str]:
    return {"owner_kind": kind, "owner_name": name, "owner_is_controller": "true"}


def owner(text: Text, at: float) -> None:
    key = {"namespace": "vision", "replicaset": "chat-7f"}
    text.add("kube_replicaset_owner", key | owned_by("Deployment", "chat"), 1, at)


def team(text: Text, at: float) -> None:
    labels = {"namespace": "vision", "label_team": "vision"}
    text.add("kube_namespace_labels", labels, 1, at)


def story(late: Callable[[Text, float], None]) -> Text:
    """A pod of a ReplicaSet for four hours, of which the last says something new."""
    text, scrapes = Text(), times(START, END)
    text.node("n1", 1, scrapes)
    text.pod("chat-7f-a", scrapes, node="n1", bound=START - 60)
    text.utilization("GPU-1", "n1", dict.fromkeys(scrapes, 0.25))
    for at in scrapes:
        key = {"namespace": "vision", "pod": "chat-7f-a", "uid": "uid-chat-7f-a"}
        text.add("kube_pod_owner", key | owned_by("ReplicaSet", "chat-7f"), 1, at)
        if at >= LATE:
            late(text, at)
    return text


@pytest.mark.parametrize(
    ("late", "by", "before", "after"),
    [
        (owner, "workload", "chat-7f", "chat"),
        (team, "team", "unmapped", "vision"),
    ],
)
def test_hours_that_were_rolled_up_follow(
    late: Callable[[Text, float], None],
    by: str,
    before: str,
    after: str,
    tmp_path: Path,
) -> None:
    text = story(late)
    halves = [
        text.write(tmp_path / f"{n}.om", text.between(*span))
        for n, span in enumerate([(START, LATE), (LATE, END)])
    ]
    (tmp_path / "setup.yaml").write_text(SETUP)
    run("configure", tmp_path / "setup.yaml")
    for order in (halves, halves[::-1]):
        clear()
        run("import_metrics", "--cluster=north", order[0])
        if order is halves:
            assert hours_by(by) == {before: 3.0}
        run("import_metrics", "--cluster=north", order[1])
        assert hours_by(by) == {after: 4.0}
        run("verify")


def hours_by(name: str) -> dict[str, float]:
    return {
        row[name]: row["allocated_ms"] / 3_600_000
        for row in report("usage", by=name)
        if row["allocated_ms"]
    }
