"""Partitions are made and dropped by functions of the owner of the tables.

The role of the services owns no table of facts and creates nothing in the schema: what it could
attach to one, such as a trigger, would run as the owner at the next migration. The functions take
only the fact tables, each with its own unit of time, build the names themselves, and have a fixed search path and time zone.
"""

from django.db import migrations

FACTS = ", ".join(
    f"'{name}'"
    for name in (
        "usage_window", "usage_hour", "usage_day",
        "intensity_window", "intensity_hour", "intensity_day",
        "usage_gpu_hour", "usage_gpu_day", "intensity_gpu_hour", "intensity_gpu_day",
    )
)
SAFE = "LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp SET timezone = 'UTC'"

# `CREATE TABLE ... PARTITION OF` waits for all who read the table, and those who come later wait
# for it: https://www.postgresql.org/docs/current/ddl-partitioning.html, "Partition Maintenance".
# Attaching creates the indexes of the table, too.
CREATE = f"""
CREATE FUNCTION public.accounting_create_partition(fact text, low timestamptz, high timestamptz)
RETURNS void {SAFE} AS $$
DECLARE
    part text := fact || '_' || to_char(low, 'YYYYMMDD');
    unit text := CASE
        WHEN fact IN ('usage_window', 'intensity_window') THEN 'day'
        WHEN fact IN ('usage_day', 'intensity_day') THEN 'year'
        ELSE 'month'
    END;
BEGIN
    IF fact <> ALL (ARRAY[{FACTS}]) THEN
        RAISE insufficient_privilege USING MESSAGE = format('%L is not a table of facts', fact);
    END IF;
    IF low <> date_trunc(unit, low) OR high <> low + ('1 ' || unit)::interval THEN
        RAISE insufficient_privilege USING MESSAGE = format('partitions of %s have one %s', fact, unit);
    END IF;
    EXECUTE format(
        'CREATE TABLE public.%I (LIKE public.%I INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', part, fact);
    EXECUTE format(
        'ALTER TABLE public.%I ATTACH PARTITION public.%I FOR VALUES FROM (%L) TO (%L)',
        fact, part, low, high);
END $$;
REVOKE ALL ON FUNCTION public.accounting_create_partition(text, timestamptz, timestamptz) FROM PUBLIC;
"""

DROP = f"""
CREATE FUNCTION public.accounting_drop_partitions(fact text, parts text[])
RETURNS void {SAFE} AS $$
DECLARE
    known text[];
BEGIN
    IF fact <> ALL (ARRAY[{FACTS}]) THEN
        RAISE insufficient_privilege USING MESSAGE = format('%L is not a table of facts', fact);
    END IF;
    SELECT coalesce(array_agg(c.relname::text), '{{}}') INTO known
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = format('public.%I', fact)::regclass
      AND c.relnamespace = 'public'::regnamespace;
    IF NOT parts <@ known THEN
        RAISE insufficient_privilege USING MESSAGE = format('not all are partitions of %s', fact);
    END IF;
    EXECUTE 'DROP TABLE ' || (SELECT string_agg(format('public.%I', part), ', ') FROM unnest(parts) part);
END $$;
REVOKE ALL ON FUNCTION public.accounting_drop_partitions(text, text[]) FROM PUBLIC;
"""


class Migration(migrations.Migration):
    dependencies = [("accounting", "0008_price_drafts")]

    operations = [
        migrations.RunSQL(
            CREATE,
            "DROP FUNCTION public.accounting_create_partition(text, timestamptz, timestamptz)",
        ),
        migrations.RunSQL(DROP, "DROP FUNCTION public.accounting_drop_partitions(text, text[])"),
    ]
