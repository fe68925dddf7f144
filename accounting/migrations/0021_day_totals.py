"""Totals of billing days by cluster, with their cost: a year of them is 365 rows, not a million.

Kept by a trigger as totals of hours are (migration 0016). Days are never dropped.
"""

from django.db import migrations

STATES = ("busy_ms", "idle_ms", "unknown_ms", "free_ms", "stranded_ms", "stray_ms", "dark_ms")
SUMS = f"""
INSERT INTO usage_day_total (cluster_id, billing_on, {", ".join(STATES)}, cost_raw)
SELECT u.cluster_id, u.billing_on, {", ".join(f"sum(u.{name})" for name in STATES)},
       sum(({" + ".join(f"u.{name}" for name in STATES)}) * u.gpu_cost)
FROM usage_day u WHERE {{where}} GROUP BY u.cluster_id, u.billing_on
"""

TABLE = f"""
CREATE TABLE usage_day_total (
    cluster_id smallint NOT NULL, billing_on date NOT NULL,
    {", ".join(f"{name} bigint NOT NULL" for name in STATES)},
    cost_raw numeric,
    PRIMARY KEY (billing_on, cluster_id)
);
{SUMS.format(where="true")}
"""

# With plans of their own: a plan for any days would look into every partition.
FUNCTION = f"""
CREATE FUNCTION public.accounting_day_totals() RETURNS trigger LANGUAGE plpgsql
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    these record;
BEGIN
    FOR these IN SELECT cluster_id, array_agg(DISTINCT billing_on) AS days
                 FROM changed GROUP BY cluster_id LOOP
        DELETE FROM usage_day_total t
        WHERE t.cluster_id = these.cluster_id AND t.billing_on = ANY(these.days);
        {SUMS.format(where="u.cluster_id = these.cluster_id AND u.billing_on = ANY(these.days)")};
    END LOOP;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION public.accounting_day_totals IS
    'Makes the totals of days that changed again, from their rows.';

CREATE TRIGGER day_totals_added AFTER INSERT ON usage_day
    REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION accounting_day_totals();
CREATE TRIGGER day_totals_removed AFTER DELETE ON usage_day
    REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION accounting_day_totals();
CREATE TRIGGER day_totals_changed AFTER UPDATE ON usage_day
    REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION accounting_day_totals();
CREATE TRIGGER day_totals_moved AFTER UPDATE ON usage_day
    REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION accounting_day_totals();
"""


class Migration(migrations.Migration):
    dependencies = [("accounting", "0020_gpu_labels")]

    operations = [
        migrations.RunSQL(TABLE, "DROP TABLE usage_day_total"),
        migrations.RunSQL(
            FUNCTION,
            """DROP TRIGGER day_totals_added ON usage_day; DROP TRIGGER day_totals_removed ON usage_day;
               DROP TRIGGER day_totals_changed ON usage_day; DROP TRIGGER day_totals_moved ON usage_day;
               DROP FUNCTION public.accounting_day_totals()""",
        ),
    ]
