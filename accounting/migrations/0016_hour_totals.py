"""Totals of hours by cluster: what the badge of every page sums is two dozen rows, not a day of usage.

A trigger keeps them: whatever writes hours, in the same transaction their totals are made again
from the hours that are there. Retention removes them with their hours.
"""

from django.db import migrations

STATES = ("busy_ms", "idle_ms", "unknown_ms", "free_ms", "stranded_ms", "stray_ms", "dark_ms")
SUMS = f"""
INSERT INTO usage_hour_total (cluster_id, hour_start, {", ".join(STATES)})
SELECT u.cluster_id, u.hour_start, {", ".join(f"sum(u.{name})" for name in STATES)}
FROM usage_hour u WHERE {{where}} GROUP BY u.cluster_id, u.hour_start
"""

TABLE = f"""
CREATE TABLE usage_hour_total (
    cluster_id smallint NOT NULL, hour_start timestamptz NOT NULL,
    {", ".join(f"{name} bigint NOT NULL" for name in STATES)},
    PRIMARY KEY (hour_start, cluster_id)
);
{SUMS.format(where="true")}
"""

# With plans of their own: a plan for any hours would look into every partition.
FUNCTION = f"""
CREATE FUNCTION public.accounting_hours_changed() RETURNS trigger LANGUAGE plpgsql
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    these record;
BEGIN
    FOR these IN SELECT cluster_id, array_agg(DISTINCT hour_start) AS hours
                 FROM changed GROUP BY cluster_id LOOP
        DELETE FROM usage_hour_total t
        WHERE t.cluster_id = these.cluster_id AND t.hour_start = ANY(these.hours);
        {SUMS.format(where="u.cluster_id = these.cluster_id AND u.hour_start = ANY(these.hours)")};
    END LOOP;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION public.accounting_hours_changed IS
    'Makes the totals of hours that changed again, from their rows.';

CREATE TRIGGER hours_added AFTER INSERT ON usage_hour
    REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION accounting_hours_changed();
CREATE TRIGGER hours_removed AFTER DELETE ON usage_hour
    REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION accounting_hours_changed();
CREATE TRIGGER hours_changed AFTER UPDATE ON usage_hour
    REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION accounting_hours_changed();
CREATE TRIGGER hours_moved AFTER UPDATE ON usage_hour
    REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION accounting_hours_changed();
"""


class Migration(migrations.Migration):
    dependencies = [("accounting", "0015_family_days")]

    operations = [
        migrations.RunSQL(TABLE, "DROP TABLE usage_hour_total"),
        migrations.RunSQL(
            FUNCTION,
            """DROP TRIGGER hours_added ON usage_hour; DROP TRIGGER hours_removed ON usage_hour;
               DROP TRIGGER hours_changed ON usage_hour; DROP TRIGGER hours_moved ON usage_hour;
               DROP FUNCTION public.accounting_hours_changed()""",
        ),
    ]
