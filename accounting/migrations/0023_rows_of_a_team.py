"""A team's page reads the rows of that team: of 200 teams, half a percent of a month."""

from django.db import migrations

TIMES = {
    "usage_hour": "hour_start",
    "usage_day": "billing_on",
    "usage_family_day": "billing_on",
    "intensity_day": "billing_on",
}


class Migration(migrations.Migration):
    dependencies = [("accounting", "0022_totals_added")]

    operations = [
        migrations.RunSQL(
            f"CREATE INDEX {table}_team ON {table} (team_id, {at})",
            f"DROP INDEX {table}_team",
        )
        for table, at in TIMES.items()
    ]
