"""Inputs after public bug reports through the product, against what is right by their pages.

The data are not part of the project: a case whose folder is absent is skipped by name. A new
case is a row of `CASES`: the folder's name, and what each report must say.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import pytest

from accounting.prices.models.price import UnitPrice
from tests.acceptance.given import data
from tests.integration.metering.support import report, run

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.integration]


class Look(NamedTuple):
    """What a report must say.

    Attributes:
        kind: of the report.
        by: its dimensions, joined by commas; "" for `holds` and `issues`.
        rows: fields of each row that must be there. Other fields may have any value.
        has_others: the report may have other rows.
    """

    kind: str
    by: str
    rows: Sequence[Mapping[str, Any]]
    has_others: bool = False


class Case(NamedTuple):
    """One folder: its set-up, its metrics, and the looks at what came.

    Attributes:
        looks: after `configure` and `import_metrics`.
        codes: of the data issues that are open.
        options: of `import_metrics`.
    """

    looks: Sequence[Look]
    codes: frozenset[str] = frozenset()
    options: Sequence[str] = ()


CASES: Mapping[str, Case] = {
    "amd-lifecycle-first-window": Case(
        looks=(
            Look(
                "ledger",
                "node,lifecycle,hour",
                (
                    {"node": "n1", "lifecycle": "spot", "wall_charge": "0.200000"},
                    {"node": "n2", "lifecycle": "spot", "wall_charge": "0.200000"},
                ),
            ),
        ),
    ),
    "node-replaced-quickly": Case(
        looks=(
            Look(
                "ledger",
                "gpu",
                ({"gpu": "GPU-2", "wall_ms": 600_000, "wall_charge": "0.500000"},),
                has_others=True,
            ),
        ),
    ),
    "kai-dark": Case(
        looks=(
            Look(
                "usage",
                "pod",
                (
                    {"pod": "nb", "allocated_ms": 600_000, "charge": "0.500000"},
                    {"pod": "train", "allocated_ms": 1_200_000},
                ),
            ),
            Look("ledger", "cluster", ({"dark_ms": 450_000},)),
        ),
    ),
    "mig-profile-rounding": Case(
        looks=(
            Look(
                "usage",
                "pod",
                (
                    {"pod": "train-0", "busy_ms": 600_000, "charge": "0.700000"},
                    # a seventh of four windows, rounded up in each (N23)
                    {"pod": "nb-0", "allocated_ms": 171_432, "busy_ms": 85_716},
                ),
            ),
            Look("ledger", "cluster", ({"stranded_ms": 0},)),
        ),
    ),
    "ratio-under-percent-name": Case(
        looks=(
            Look(
                "usage",
                "pod",
                (
                    {"pod": "t-0", "busy_ms": 1_056_000},
                    {"pod": "t-1", "busy_ms": 504_000},
                ),
            ),
            Look("usage", "team", ({"idle_charge": "0.490000"},)),
        ),
        codes=frozenset({"utilization_scale"}),
    ),
    "idle-charge-zero": Case(
        looks=(
            Look(
                "usage",
                "team",
                ({"team": "vision", "charge": "0.500000", "idle_charge": None},),
            ),
            Look("ledger", "cluster", ({"idle_charge": None},)),
        ),
        codes=frozenset({"unpriced_gpu"}),
    ),
    "kube-state-own-node": Case(
        looks=(
            Look(
                "holds",
                "",
                ({"pod": "t-1", "node": "gpu-1"}, {"pod": "t-2", "node": "gpu-2"}),
            ),
            Look(
                "usage",
                "team",
                (
                    {
                        "team": "vision",
                        "allocated_ms": 3_000_000,
                        "busy_ms": 1_500_000,
                        "charge": "1.750000",
                    },
                ),
            ),
            Look(
                "ledger",
                "node",
                (
                    {"node": "gpu-1", "stray_ms": 0},
                    {"node": "gpu-2", "stray_ms": 0},
                ),
            ),
        ),
    ),
    "hami-without-gfd": Case(
        looks=(
            Look(
                "usage",
                "pod",
                (
                    {"pod": "llm-0", "allocated_ms": 300_000, "charge": "0.175000"},
                    {"pod": "llm-1", "allocated_ms": 300_000, "charge": "0.175000"},
                ),
            ),
            Look(
                "ledger",
                "node",
                ({"node": "n5", "wall_ms": 2_400_000, "wall_charge": "1.400000"},),
            ),
            Look("ledger", "gpu", ({"gpu": "GPU-x1"}, {"gpu": "GPU-x2"})),
        ),
    ),
    "hostname-is-pod-name": Case(
        looks=(
            Look(
                "usage",
                "pod",
                (
                    {
                        "pod": "t-0",
                        "allocated_ms": 7_200_000,
                        "busy_ms": 3_600_000,
                        "coverage": 1.0,
                    },
                ),
            ),
            Look("ledger", "node,gpu", ({"node": "n6", "gpu": "GPU-hl1"},)),
        ),
        codes=frozenset({"hostname_of_no_node"}),
    ),
    "rejected-pods": Case(
        looks=(
            Look(
                "usage",
                "team",
                (
                    {
                        "team": "vision",
                        "allocated_ms": 1_800_000,
                        "unknown_ms": 0,
                        "charge": "1.050000",
                    },
                ),
            ),
        ),
        codes=frozenset({"pod_refused"}),
    ),
    "stale-capacity": Case(
        looks=(
            Look(
                "ledger",
                "node",
                ({"node": "n10", "wall_ms": 2_400_000, "wall_charge": "1.400000"},),
            ),
            Look("ledger", "gpu", ({"gpu": "GPU-s1"}, {"gpu": "GPU-s2"})),
        ),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_numbers_are_those_of_its_page(name: str) -> None:
    case, folder = CASES[name], data(f"outside-inputs/{name}")
    [metrics] = folder.glob("metrics.*")
    run("configure", folder / "configure.yaml")
    run("import_metrics", "--cluster=c", *case.options, metrics)

    for look in case.looks:
        found = report(look.kind, **({"by": look.by} if look.by else {}))
        for wanted in look.rows:
            assert [row for row in found if wanted.items() <= row.items()], (
                wanted,
                found,
            )
        assert look.has_others or len(found) == len(look.rows), found
    assert {row["code"] for row in report("issues")} == case.codes
    assert "FAIL" not in run("verify")


@pytest.mark.parametrize("name", ["bom.om", "utf16.om", "dump.txt"])
def test_a_file_is_read_in_the_form_that_its_tool_writes(name: str) -> None:
    folder = data("outside-inputs/file-forms")
    run("configure", folder / "configure.yaml")
    said = run("import_metrics", "--cluster=c", folder / name)
    assert said.startswith("12 samples (12 new)")


def test_a_price_list_of_a_spreadsheet_is_read() -> None:
    folder = data("outside-inputs/file-forms")
    run("prices", "import", folder / "prices-excel.csv", "--save", "--keep-unknown")
    [price] = UnitPrice.objects.values_list("model", "rate_per_gpu_hour")
    assert price == ("Tesla-T4", Decimal("0.61"))
