"""Lines of closed months by family: `charge_line` without workloads (rules.md N41, decision 44).

A trigger writes them when a month is closed; what gives workloads another family has them written
again. Only functions of the tables' owner write them: what was booked is changed by nobody else.
"""

from django.db import migrations

SAFE = "LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp"

STATES = ("busy", "idle", "unknown", "free", "stranded", "stray", "dark")
IS_TIME = "l.kind IN ('usage', 'platform')"
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
    "is_later": ("boolean", "(l.corrects <> '' OR l.kind IN ('credit', 'adjustment'))"),
}
SUMS = {
    "charge": ("numeric", "sum(l.charge)"),
    "charges": ("bigint", "count(l.charge)"),
    "rest_charge": ("numeric", f"sum(l.charge) FILTER (WHERE NOT ({IS_TIME}))"),
}
for state in STATES:  # NULL takes no place: most rows have one or two states
    of = f"FILTER (WHERE {IS_TIME} AND l.state = '{state}')"
    SUMS[f"{state}_charge"] = ("numeric", f"sum(l.charge) {of}")
    SUMS[f"{state}_lines"] = ("bigint", f"nullif(count(l.charge) {of}, 0)")
    SUMS[f"{state}_unpriced"] = (
        "bigint", f"sum(CASE WHEN l.charge IS NULL THEN l.ms END) {of}"
    )

TABLE = f"""
CREATE TABLE charge_family_day (
    {", ".join(f"{name} {kind} NOT NULL" for name, (kind, _) in KEY.items())},
    {", ".join(f"{name} {kind}" for name, (kind, _) in SUMS.items())}
);
CREATE INDEX charge_family_of_day ON charge_family_day (revision_id, billing_on);
CREATE INDEX charge_family_of_team ON charge_family_day (revision_id, team, billing_on);
COMMENT ON COLUMN charge_family_day.is_later IS
    'Corrections, and entries: booked later than its day, or beside its time.';
COMMENT ON COLUMN charge_family_day.rest_charge IS
    'What is of no time: differences, what is spread over teams, entries.';
COMMENT ON COLUMN charge_family_day.busy_lines IS 'How many lines of busy time have a charge.';
COMMENT ON COLUMN charge_family_day.busy_unpriced IS 'Milliseconds of lines without a charge.';
"""

GROUP = f"""
INSERT INTO charge_family_day ({", ".join((*KEY, *SUMS))})
SELECT {", ".join(sql for _, sql in (*KEY.values(), *SUMS.values()))}
FROM charge_line l LEFT JOIN (
    SELECT w.family, w.kind, w.name, n.name AS namespace, c.name AS cluster
    FROM accounting_workload w
    JOIN accounting_namespace n ON n.id = w.namespace_id
    JOIN accounting_cluster c ON c.id = w.cluster_id
) f ON f.cluster = l.cluster AND f.namespace = l.namespace AND f.kind = l.workload_kind
    AND f.name = l.workload
WHERE l.billing_on IS NOT NULL AND l.kind <> 'rounding' AND {{where}}
GROUP BY {", ".join(sql for _, sql in KEY.values())}
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
