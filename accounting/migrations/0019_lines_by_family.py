"""Lines of closed months by family: `charge_line` without workloads (rules.md N41, decision 44).

A trigger writes them when a month is closed; what gives workloads another family has them written
again. Only functions of the tables' owner write them: what was booked is changed by nobody else.
"""

from django.db import migrations

SAFE = "LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp"

TABLE = """
CREATE TABLE charge_family_day (
    revision_id bigint NOT NULL, billing_on date NOT NULL, kind varchar(10) NOT NULL,
    team varchar(63) NOT NULL, cluster varchar(63) NOT NULL, namespace varchar(63) NOT NULL,
    family varchar(253) NOT NULL, workload_type varchar(32) NOT NULL, model varchar(200) NOT NULL,
    lifecycle varchar(16) NOT NULL, tier varchar(253) NOT NULL, state varchar(8) NOT NULL,
    is_later boolean NOT NULL, charge numeric, charges bigint NOT NULL, unpriced_ms bigint NOT NULL
);
CREATE INDEX charge_family_of_day ON charge_family_day (revision_id, billing_on);
CREATE INDEX charge_family_of_team ON charge_family_day (revision_id, team, billing_on);
COMMENT ON COLUMN charge_family_day.is_later IS
    'Corrections, and entries: booked later than its day, or beside its time.';
"""

KEY = (
    "l.revision_id, l.billing_on, l.kind, l.team, l.cluster, l.namespace,"
    " coalesce(f.family, l.workload), l.workload_type, l.model, l.lifecycle, l.tier, l.state,"
    " (l.corrects <> '' OR l.kind IN ('credit', 'adjustment'))"
)

GROUP = f"""
INSERT INTO charge_family_day
SELECT {KEY}, sum(l.charge), count(l.charge), coalesce(sum(l.ms) FILTER (WHERE l.charge IS NULL), 0)
FROM charge_line l LEFT JOIN (
    SELECT w.family, w.kind, w.name, n.name AS namespace, c.name AS cluster
    FROM accounting_workload w
    JOIN accounting_namespace n ON n.id = w.namespace_id
    JOIN accounting_cluster c ON c.id = w.cluster_id
) f ON f.cluster = l.cluster AND f.namespace = l.namespace AND f.kind = l.workload_kind
    AND f.name = l.workload
WHERE l.billing_on IS NOT NULL AND l.kind <> 'rounding' AND {{where}}
GROUP BY {KEY}
"""

FUNCTION = f"""
CREATE FUNCTION public.accounting_group_lines(revision bigint) RETURNS void {SAFE}
SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    DELETE FROM charge_family_day b WHERE b.revision_id = revision;
    {GROUP.format(where="l.revision_id = revision")};
END $$;
REVOKE ALL ON FUNCTION public.accounting_group_lines(bigint) FROM PUBLIC;
COMMENT ON FUNCTION public.accounting_group_lines IS 'Makes the sums by family of a close.';

CREATE FUNCTION public.accounting_month_closed() RETURNS trigger {SAFE} AS $$
BEGIN
    PERFORM accounting_group_lines(NEW.id);
    RETURN NULL;
END $$;

CREATE TRIGGER month_closed AFTER INSERT OR UPDATE OF closed_at ON accounting_periodrevision
    FOR EACH ROW WHEN (NEW.closed_at IS NOT NULL AND NEW.reopened_at IS NULL)
    EXECUTE FUNCTION accounting_month_closed();

CREATE FUNCTION public.accounting_regroup_lines(
    cluster_name text, days date[], spaces text[]
) RETURNS void {SAFE} SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    revisions bigint[] := ARRAY(SELECT id FROM accounting_periodrevision
                                WHERE closed_at IS NOT NULL AND reopened_at IS NULL);
BEGIN
    DELETE FROM charge_family_day b
    WHERE b.revision_id = ANY(revisions) AND b.billing_on = ANY(days)
      AND b.cluster = cluster_name AND b.namespace = ANY(spaces);
    {GROUP.format(where='''l.revision_id = ANY(revisions) AND l.billing_on = ANY(days)
      AND l.cluster = cluster_name AND l.namespace = ANY(spaces)''')};
END $$;
REVOKE ALL ON FUNCTION public.accounting_regroup_lines(text, date[], text[]) FROM PUBLIC;
COMMENT ON FUNCTION public.accounting_regroup_lines IS
    'Makes these sums again of some days and namespaces, whose workloads have another family.';
"""

FILL = """
SELECT accounting_group_lines(id) FROM accounting_periodrevision
WHERE closed_at IS NOT NULL AND reopened_at IS NULL
"""


class Migration(migrations.Migration):
    dependencies = [("accounting", "0018_booked_causes")]

    operations = [
        migrations.RunSQL(TABLE, "DROP TABLE charge_family_day"),
        migrations.RunSQL(
            FUNCTION,
            """DROP TRIGGER month_closed ON accounting_periodrevision;
               DROP FUNCTION public.accounting_month_closed();
               DROP FUNCTION public.accounting_group_lines(bigint);
               DROP FUNCTION public.accounting_regroup_lines(text, date[], text[])""",
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
    ]
