"""Whose a hold is is found in an index, without the wide rows of pods; lines by family lie by day.

What a close groups is written in the order of days now: a report reads the days of a month, and
found a row of them in almost every page.
"""

from importlib import import_module

from django.db import migrations, models

LINES = import_module("accounting.migrations.0019_lines_by_family")

FUNCTION = """
CREATE OR REPLACE FUNCTION public.accounting_group_lines(revision bigint) RETURNS void {safe}
SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    DELETE FROM charge_family_day b WHERE b.revision_id = revision;
    {group} {order};
END $$
"""
GROUP = LINES.GROUP.format(where="l.revision_id = revision")


def function(order: str) -> str:
    return FUNCTION.format(safe=LINES.SAFE, group=GROUP, order=order)


class Migration(migrations.Migration):
    dependencies = [("accounting", "0029_notifications")]

    operations = [
        migrations.AddIndex(
            "pod",
            models.Index(
                fields=["id"],
                include=("namespace", "priority_class", "cluster"),
                name="pod_owner",
            ),
        ),
        migrations.RunSQL(function("ORDER BY l.billing_on"), function("")),
        migrations.RunSQL(LINES.FILL, migrations.RunSQL.noop),
    ]
