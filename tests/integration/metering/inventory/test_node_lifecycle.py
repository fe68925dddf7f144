"""A node's lifecycle that is known late: its hours are rolled up again (N26)."""

from pathlib import Path

import pytest
from django.db import connection

from accounting.core.interval import FAR_MS
from accounting.metering.models.ledger import DirtyHour
from accounting.metering.tasks.evidence.node_lifecycles import differing
from tests.builders import SETUP, two_hours
from tests.integration.faults.support import ledger
from tests.integration.metering.support import run

pytestmark = pytest.mark.django_db(transaction=True)


def lifecycles() -> set[str]:
    """Those of every hour."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT lifecycle FROM usage_hour")
        return {row[0] for row in cursor.fetchall()}


def test_a_label_that_comes_last_prices_hours_that_no_fact_changes(
    tmp_path: Path,
) -> None:
    two_hours().write(tmp_path / "all.om")
    lines = (tmp_path / "all.om").read_text().splitlines(keepends=True)
    labels = [line for line in lines if "kube_node_labels" in line]
    others = [line for line in lines if "kube_node_labels" not in line]
    (tmp_path / "others.om").write_text("".join(others))
    (tmp_path / "labels.om").write_text("".join([*labels, "# EOF\n"]))
    (tmp_path / "setup.yaml").write_text(SETUP)
    run("configure", tmp_path / "setup.yaml")

    run("import_metrics", "--cluster=north", tmp_path / "others.om")
    before = ledger()
    assert lifecycles() == {"unknown"}
    run("import_metrics", "--cluster=north", tmp_path / "labels.om")

    assert ledger()["facts"] == before["facts"]
    assert lifecycles() == {"on-demand"}
    assert not DirtyHour.objects.exists()


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ([], [], []),
        ([], [(50, "unknown")], []),
        ([], [(50, "spot")], [(0, 50), (50, FAR_MS)]),  # the first is for ever before
        ([(50, "spot")], [(20, "spot")], []),
        ([(50, "spot")], [(50, "spot"), (80, "reserved")], [(80, FAR_MS)]),
        (
            [(10, "spot"), (80, "spot")],
            [(10, "spot"), (40, "x"), (80, "spot")],
            [(40, 80)],
        ),
    ],
)
def test_where_two_accounts_differ(
    before: list[tuple[int, str]],
    after: list[tuple[int, str]],
    expected: list[tuple[int, int]],
) -> None:
    assert differing(before, after) == expected
