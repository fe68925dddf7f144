"""Rows that are added to an hour or a day are added to its total: they are not read again.

A rollup adds each once, after it has removed the old ones, which makes their totals again.
"""

from django.db import migrations

STATES = ("busy_ms", "idle_ms", "unknown_ms", "free_ms", "stranded_ms", "stray_ms", "dark_ms")
WALL = " + ".join(STATES)


def added(table: str, total: str, at: str, trigger: str, sums: dict[str, str], **more: str) -> str:
    """SQL of a function and its trigger."""
    names = ", ".join(sums)
    sets = {name: f"t.{name} + excluded.{name}" for name in sums} | more
    return f"""
    CREATE FUNCTION public.accounting_{trigger}() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO {total} AS t (cluster_id, {at}, {names})
        SELECT cluster_id, {at}, {", ".join(sums.values())} FROM changed GROUP BY cluster_id, {at}
        ON CONFLICT ({at}, cluster_id) DO UPDATE SET
            {", ".join(f"{name} = {value}" for name, value in sets.items())};
        RETURN NULL;
    END $$;
    DROP TRIGGER {trigger} ON {table};
    CREATE TRIGGER {trigger} AFTER INSERT ON {table}
        REFERENCING NEW TABLE AS changed
        FOR EACH STATEMENT EXECUTE FUNCTION accounting_{trigger}();
    """


def before(table: str, trigger: str, function: str) -> str:
    """SQL of the trigger as it was."""
    return f"""
    DROP TRIGGER {trigger} ON {table};
    DROP FUNCTION public.accounting_{trigger}();
    CREATE TRIGGER {trigger} AFTER INSERT ON {table}
        REFERENCING NEW TABLE AS changed
        FOR EACH STATEMENT EXECUTE FUNCTION {function}();
    """


TIME = {name: f"sum({name})" for name in STATES}
COST = {"cost_raw": f"sum(({WALL}) * gpu_cost)"}
BOTH = "coalesce(t.cost_raw + excluded.cost_raw, t.cost_raw, excluded.cost_raw)"


class Migration(migrations.Migration):
    dependencies = [("accounting", "0021_day_totals")]

    operations = [
        migrations.RunSQL(
            added("usage_hour", "usage_hour_total", "hour_start", "hours_added", TIME),
            before("usage_hour", "hours_added", "accounting_hours_changed"),
        ),
        migrations.RunSQL(
            added(
                *("usage_day", "usage_day_total", "billing_on", "day_totals_added"),
                TIME | COST,
                cost_raw=BOTH,
            ),
            before("usage_day", "day_totals_added", "accounting_day_totals"),
        ),
    ]
