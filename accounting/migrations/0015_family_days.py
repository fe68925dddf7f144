"""Days by family: `usage_day` without workloads (rules.md N41, decision 43).

A trigger keeps them: whatever writes days of usage, in the same transaction their days by family
are what the workloads' families make of them. The table has no partitions, because days are
never dropped.
"""

import django.db.models
from django.db import migrations

KEY = (
    "{0}.cluster_id, {0}.billing_on, {0}.namespace_id, {0}.team_id, {0}.workload_type, {0}.model, "
    "{0}.lifecycle, {0}.tier, {0}.price_id, {0}.gpu_price_id"
)
PLAIN_KEY = KEY.replace("{0}.", "")
SUMMED = (
    *("busy_ms", "idle_ms", "unknown_ms", "free_ms", "stranded_ms", "stray_ms", "dark_ms"),
    *("estimated_ms", "samples_expected", "samples_used"),
)
RATES = ("rate", "cost", "gpu_rate", "gpu_cost", "currency")

TABLE = """
CREATE TABLE usage_family_day (LIKE usage_day INCLUDING DEFAULTS);
ALTER TABLE usage_family_day DROP COLUMN workload_id,
    ADD COLUMN family varchar(253) NOT NULL DEFAULT '',
    ADD PRIMARY KEY (cluster_id, billing_on, namespace_id, team_id, family, workload_type, model,
                     lifecycle, tier, price_id, gpu_price_id);
"""

GROUP = f"""
INSERT INTO usage_family_day ({PLAIN_KEY}, family, {", ".join((*SUMMED, *RATES))})
SELECT {KEY.format("u")}, coalesce(w.family, ''),
       {", ".join(f"sum(u.{name})" for name in SUMMED)},
       {", ".join(f"max(u.{name})" for name in RATES)}
FROM {{days}} u LEFT JOIN accounting_workload w ON w.id = u.workload_id
WHERE {{where}}
GROUP BY {KEY.format("u")}, coalesce(w.family, '')
"""

# Rows that are added to a day are added to its sums: a rollup adds a day once, and reads it once.
ADD = f"""ON CONFLICT ({PLAIN_KEY}, family) DO UPDATE SET
    {", ".join(f"{name} = o.{name} + excluded.{name}" for name in SUMMED)},
    {", ".join(f"{name} = greatest(o.{name}, excluded.{name})" for name in RATES)}"""

# With plans of their own: a plan for any days would look into every partition.
FUNCTION = f"""
CREATE FUNCTION public.accounting_group_days(cluster integer, days date[], spaces bigint[])
RETURNS void LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    DELETE FROM usage_family_day u
    WHERE u.cluster_id = cluster AND u.billing_on = ANY(days)
      AND (spaces IS NULL OR u.namespace_id = ANY(spaces));
    {GROUP.format(days="usage_day", where='''u.cluster_id = cluster AND u.billing_on = ANY(days)
      AND (spaces IS NULL OR u.namespace_id = ANY(spaces))''')};
END $$;
COMMENT ON FUNCTION public.accounting_group_days IS
    'Makes the days by family of a cluster again from its days; spaces: of some namespaces only.';

CREATE FUNCTION public.accounting_days_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM accounting_group_days(c.cluster_id, array_agg(c.billing_on), NULL)
    FROM (SELECT DISTINCT cluster_id, billing_on FROM changed) c GROUP BY c.cluster_id;
    RETURN NULL;
END $$;

CREATE FUNCTION public.accounting_days_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    {GROUP.format(days="changed", where="true").replace("usage_family_day", "usage_family_day AS o", 1)}
    {ADD};
    RETURN NULL;
END $$;

CREATE TRIGGER days_added AFTER INSERT ON usage_day
    REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION accounting_days_added();
CREATE TRIGGER days_removed AFTER DELETE ON usage_day
    REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION accounting_days_changed();
CREATE TRIGGER days_changed AFTER UPDATE ON usage_day
    REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION accounting_days_changed();
CREATE TRIGGER days_moved AFTER UPDATE ON usage_day
    REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION accounting_days_changed();
"""


class Migration(migrations.Migration):
    dependencies = [("accounting", "0014_line_hours")]

    operations = [
        migrations.AddField(
            model_name="workload",
            name="next_family",
            field=django.db.models.CharField(
                blank=True, db_default="", default="", max_length=253
            ),
        ),
        migrations.AddIndex(
            model_name="workload",
            index=django.db.models.Index(
                fields=["cluster"],
                condition=~django.db.models.Q(next_family=""),
                name="workload_that_moves",
            ),
        ),
        migrations.RunSQL(TABLE, "DROP TABLE usage_family_day"),
        migrations.RunSQL(GROUP.format(days="usage_day", where="true"), migrations.RunSQL.noop),
        migrations.RunSQL(
            FUNCTION,
            """DROP TRIGGER days_added ON usage_day; DROP TRIGGER days_removed ON usage_day;
               DROP TRIGGER days_changed ON usage_day; DROP TRIGGER days_moved ON usage_day;
               DROP FUNCTION public.accounting_days_added();
               DROP FUNCTION public.accounting_days_changed();
               DROP FUNCTION public.accounting_group_days(integer, date[], bigint[])""",
        ),
    ]
