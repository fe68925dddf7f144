"""Which databases are of a version before the first release, by their migrations."""

import ast
from pathlib import Path

import pytest
from django.db.migrations import Migration
from django.db.migrations.loader import MigrationLoader

from portal.old_database import OURS, old_migrations

ROOT = Path(__file__).resolve().parents[3]
# What versions before the first release had. No migration may ever be called so again.
OLD = {
    "accounting": [
        "0001_extensions",
        "0002_tables",
        "0003_fact_tables",
        "0004_source_history",
        "0005_intensity",
        "0006_audit_chain",
        "0007_reading_hash",
        "0008_shapes",
        "0009_added_resources",
        "0010_queues",
        "0011_share_policies",
        "0012_imported_files",
        "0013_lifecycles_in_snake_case",
        "0014_retired_clusters",
        "0015_end_of_a_cluster",
        "0016_kube_state_scrapes",
        "0017_accounts",
        "0018_labels_of_holds",
        "0019_folded_blocks",
        "0020_claims_that_kube_state_shows",
        "0021_jobs_of_kube_state",
        "0001_tables",
        "0002_fact_tables",
        "0003_audit_chain",
        "0004_worker_of_a_lease",
        "0005_rollups_by_gpu",
        "0006_budgets",
        "0007_periods",
        "0008_frozen_periods",
        "0009_conversions",
        "0010_close_requests",
        "0011_export_jobs",
        "0012_price_lists",
        "0013_split_prices",
        "0014_costs_are_prices",
        "0015_forecast_records",
        "0016_team_quotas",
        "0017_contests",
        "0018_export_destinations",
        "0019_organization_of_a_close",
        "0020_bills",
        "0021_idempotency_keys",
        "0022_requested_closes",
        "0023_payers_of_a_close",
        "0024_corrected_lines",
    ],
    "scheduler_view": [
        "0001_change_sets",
        "0002_made_at",
        "0003_longer_action",
        "0004_observations",
        "0005_preemptions",
        "0006_declined",
        "0001_initial",
        "0002_idempotency_keys_of_accounting",
        "0003_unit_waits",
        "0004_waste",
        "0005_recommendation_decisions",
        "0006_queues",
        "0007_what_if",
        "0008_waste_memory",
        "0009_queue_targets",
        "0001_scheduling",
        "0002_waits_since",
        "0003_waits_from_metrics",
        "0004_free_cpu",
        "0005_waste_limits",
        "0006_start_words",
        "0007_change_requesters",
        "0008_quiet_until",
        "0009_listed_split",
        "0010_former_objects",
        "0011_waste_of_the_ledger",
        "0012_managers_of_limits",
        "0013_end_of_applying",
        "0014_node_notes",
        "0015_token_waits",
        "0016_queues_read_again",
        "0017_idle_now",
        "0018_alerts",
        "0019_alert_digests",
        "0020_alert_units",
    ],
}
# Who has the last of the replaced migrations has all of them.
LAST = ("scheduler_view", "0021_own_thresholds")

OPERATION = "accounting.migrations._create_models"  # part of migrations


@pytest.fixture
def loader() -> MigrationLoader:
    """The migrations of this version, and no database."""
    return MigrationLoader(None)


def applied(loader: MigrationLoader, *keys: tuple[str, str]) -> MigrationLoader:
    loader.applied_migrations = {
        (app, name): Migration(name, app) for app, name in keys
    }
    return loader


@pytest.mark.parametrize("count", [1, 2, 6, 21])
def test_each_state_of_an_old_database_is_old(
    loader: MigrationLoader, count: int
) -> None:
    names = OLD["accounting"][:count]
    keys = [("auth", "0001_initial"), *(("accounting", name) for name in names)]
    found = old_migrations(applied(loader, *keys))
    assert found == [f"accounting.{name}" for name in names]


def test_an_app_may_be_old_while_another_is_not(loader: MigrationLoader) -> None:
    ours = [("accounting", name) for name in names_of("accounting")]
    keys = [*ours, ("scheduler_view", "0001_change_sets")]
    assert old_migrations(applied(loader, *keys)) == ["scheduler_view.0001_change_sets"]


@pytest.mark.parametrize("name", OLD["scheduler_view"][-20:])
def test_a_database_with_a_part_of_the_replaced_ones_is_old(
    loader: MigrationLoader, name: str
) -> None:
    keys = [("accounting", name) for name in names_of("accounting")]
    key = ("scheduler_view", name)
    assert old_migrations(applied(loader, *keys, key)) == [f"scheduler_view.{name}"]


def test_empty_current_and_newer_databases_are_not_old(loader: MigrationLoader) -> None:
    assert old_migrations(applied(loader)) == []
    assert old_migrations(applied(loader, ("auth", "0001_initial"))) == []
    first = ("accounting", names_of("accounting")[0])
    assert old_migrations(applied(loader, first)) == []
    ours = [(app, name) for app in OURS for name in names_of(app)]
    assert old_migrations(applied(loader, *ours)) == []
    newer = ("accounting", "9999_of_a_later_version")
    assert old_migrations(applied(loader, *ours, newer)) == []


@pytest.mark.parametrize("app", OURS)
def test_no_migration_has_the_name_of_an_old_one(app: str) -> None:
    assert set(names_of(app)).isdisjoint([*OLD[app], LAST[1]])


@pytest.mark.parametrize("app", OURS)
def test_no_migration_imports_code_that_may_change(app: str) -> None:
    for path in (ROOT / app / "migrations").glob("[0-9]*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or "."]
            ours = [
                name
                for name in names
                if name.split(".")[0] in {*OURS, "portal"} and name != OPERATION
            ]
            assert not ours, f"{path.name} imports {ours}"


def names_of(app: str) -> list[str]:
    """The migrations of this version, in their order."""
    return sorted(path.stem for path in (ROOT / app / "migrations").glob("[0-9]*.py"))
