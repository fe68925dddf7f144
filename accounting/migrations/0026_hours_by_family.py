"""Hours of closed lines by family: `line_hours` without workloads, added up (decision 44).

A range that cuts a closed day subtracts two of the stored sums, instead of reading every line and
its hours. A trigger writes them when lines are divided over hours; what gives workloads another
family has them written again.
"""

from django.db import migrations

SAFE = "LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp"

KEY = {
    "revision_id": ("bigint", "l.revision_id"),
    "billing_on": ("date", "l.billing_on"),
    "team": ("varchar(63)", "l.team"),
    "cluster": ("varchar(63)", "l.cluster"),
    "namespace": ("varchar(63)", "l.namespace"),
    "family": ("varchar(253)", "coalesce(f.family, l.workload)"),
    "workload_type": ("varchar(32)", "l.workload_type"),
    "model": ("varchar(200)", "l.model"),
    "lifecycle": ("varchar(16)", "l.lifecycle"),
    "tier": ("varchar(253)", "l.tier"),
    "kind": ("varchar(10)", "l.kind"),
    "state": ("varchar(8)", "l.state"),
    "is_later": ("boolean", "(l.corrects <> '' OR l.kind IN ('credit', 'adjustment'))"),
    "is_priced": ("boolean", "l.charge IS NOT NULL"),
}

TABLE = f"""
CREATE TABLE charge_family_hours (
    {", ".join(f"{name} {kind} NOT NULL" for name, (kind, _) in KEY.items())},
    hours timestamptz[] NOT NULL,
    sums numeric[] NOT NULL
);
CREATE INDEX charge_family_hours_of_day ON charge_family_hours (revision_id, billing_on, team);
COMMENT ON COLUMN charge_family_hours.hours IS 'Where they begin, in their order.';
COMMENT ON COLUMN charge_family_hours.sums IS
    'Of the first hour, of the first two, and so on: charges, or milliseconds without a price.';
"""

# Of each group: hours are few, so they are sorted one group after another.
GROUP = f"""
INSERT INTO charge_family_hours ({", ".join(KEY)}, hours, sums)
SELECT {", ".join(f"g.{name}" for name in KEY)}, p.hours, p.sums
FROM (
    SELECT {", ".join(f"{sql} AS {name}" for name, (_, sql) in KEY.items())},
           array_agg(l.line_id) AS lines
    FROM charge_line l LEFT JOIN (
        SELECT w.family, w.kind, w.name, n.name AS namespace, c.name AS cluster
        FROM accounting_workload w
        JOIN accounting_namespace n ON n.id = w.namespace_id
        JOIN accounting_cluster c ON c.id = w.cluster_id
    ) f ON f.cluster = l.cluster AND f.namespace = l.namespace AND f.kind = l.workload_kind
        AND f.name = l.workload
    WHERE l.billing_on IS NOT NULL AND l.kind <> 'rounding' AND {{where}}
    GROUP BY {", ".join(sql for _, sql in KEY.values())}
) g CROSS JOIN LATERAL (
    SELECT array_agg(o.hour ORDER BY o.hour) AS hours, array_agg(o.total ORDER BY o.hour) AS sums
    FROM (
        SELECT u.hour, sum(sum(u.part)) OVER (ORDER BY u.hour) AS total
        FROM line_hours h, unnest(h.hours, h.parts) u(hour, part)
        WHERE h.revision_id = g.revision_id AND h.line_id = ANY(g.lines) GROUP BY u.hour
    ) o
) p WHERE p.hours IS NOT NULL
"""

# Of two that write the same sums, the later one sees what the earlier one wrote and read.
LOCK = "LOCK TABLE charge_family_hours IN SHARE ROW EXCLUSIVE MODE;"

FUNCTION = f"""
CREATE FUNCTION public.accounting_hours_divided() RETURNS trigger {SAFE}
SET plan_cache_mode = force_custom_plan SET enable_nestloop = on AS $$
DECLARE
    divided bigint[] := ARRAY(
        SELECT r.id FROM accounting_periodrevision r
        WHERE r.reopened_at IS NULL
          AND EXISTS (SELECT FROM charge_line l WHERE l.revision_id = r.id)
          AND EXISTS (SELECT FROM line_hours h WHERE h.revision_id = r.id)
          AND NOT EXISTS (SELECT FROM charge_family_hours b WHERE b.revision_id = r.id));
BEGIN
    IF divided <> '{{}}' THEN
        {LOCK}
        {GROUP.format(where="l.revision_id = ANY(divided)")};
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION public.accounting_hours_divided IS
    'Makes the sums by family of the closed hours that have none.';

CREATE TRIGGER hours_divided AFTER INSERT ON line_hours
    FOR EACH STATEMENT EXECUTE FUNCTION accounting_hours_divided();

CREATE FUNCTION public.accounting_regroup_hours(
    cluster_name text, days date[], spaces text[]
) RETURNS void {SAFE} SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    revisions bigint[] := ARRAY(SELECT id FROM accounting_periodrevision
                                WHERE closed_at IS NOT NULL AND reopened_at IS NULL);
BEGIN
    {LOCK}
    DELETE FROM charge_family_hours b
    WHERE b.revision_id = ANY(revisions) AND b.billing_on = ANY(days)
      AND b.cluster = cluster_name AND b.namespace = ANY(spaces);
    {GROUP.format(where='''l.revision_id = ANY(revisions) AND l.billing_on = ANY(days)
      AND l.cluster = cluster_name AND l.namespace = ANY(spaces)''')};
END $$;
REVOKE ALL ON FUNCTION public.accounting_regroup_hours(text, date[], text[]) FROM PUBLIC;
COMMENT ON FUNCTION public.accounting_regroup_hours IS
    'Makes these sums again of some days and namespaces, whose workloads have another family.';
"""

FILL = GROUP.format(
    where="""l.revision_id IN (SELECT id FROM accounting_periodrevision
      WHERE closed_at IS NOT NULL AND reopened_at IS NULL)"""
)


class Migration(migrations.Migration):
    dependencies = [("accounting", "0025_contest_reason_label")]

    operations = [
        migrations.RunSQL(TABLE, "DROP TABLE charge_family_hours"),
        migrations.RunSQL(
            FUNCTION,
            """DROP TRIGGER hours_divided ON line_hours;
               DROP FUNCTION public.accounting_hours_divided();
               DROP FUNCTION public.accounting_regroup_hours(text, date[], text[])""",
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
    ]
