"""A column of a later version does not stop processes of this one that write rows without it."""

import pytest
from django.db.migrations import AddField, CreateModel, Migration
from django.db.migrations.loader import MigrationLoader
from django.db.models import NOT_PROVIDED

BEFORE = {  # applied before this was a rule
    "accounting 0005_node_states_read: nodestate.digest",
    "scheduler_view 0003_waits_from_metrics: waitrecord.is_from_metrics",
    "scheduler_view 0005_waste_limits: wasteday.limits",
}
APPS = ("accounting", "scheduler_view", "portal")


def added() -> list[tuple[str, AddField]]:
    """Each column that a migration adds to a table of an earlier one: where, and the operation."""
    known = MigrationLoader(None).disk_migrations
    return [
        (f"{app} {name}: {one.model_name}.{one.name}", one)
        for (app, name), migration in sorted(known.items())
        if app in APPS
        for one in migration.operations
        if isinstance(one, AddField) and one.model_name not in created(migration)
    ]


def created(migration: Migration) -> set[str]:
    """The tables that a migration creates: no earlier process writes them."""
    return {
        one.name.lower() for one in migration.operations if isinstance(one, CreateModel)
    }


@pytest.mark.parametrize(
    "one",
    [pytest.param(one, id=place) for place, one in added() if place not in BEFORE],
)
def test_an_old_process_can_write_rows_without_it(one: AddField) -> None:
    """Django takes the default of a model back after it has filled the rows that are there.

    A generated column is written by PostgreSQL alone.
    """
    is_default = one.field.null or one.field.db_default is not NOT_PROVIDED
    assert is_default or one.field.generated
