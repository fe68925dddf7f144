from django.db import migrations

KINDS = ("LimitRange", "LocalQueue", "Cohort")


def read_again(apps, schema_editor):
    """Objects of these kinds are stored again at the next observation, with their managers."""
    observations = apps.get_model("scheduler_view", "Observation").objects
    observations.filter(kind__in=KINDS).update(resource_version="")


class Migration(migrations.Migration):

    dependencies = [
        ("scheduler_view", "0011_waste_of_the_ledger"),
    ]

    operations = [
        migrations.RunPython(read_again, migrations.RunPython.noop),
    ]
