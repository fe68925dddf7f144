from django.db import migrations

KINDS = (
    *("ClusterQueue", "Cohort", "LocalQueue", "WorkloadPriorityClass"),
    *("VolcanoQueue", "KaiQueue"),
)


def read_again(apps, schema_editor):
    """Objects of these kinds are stored again at the next observation, without wrong fields.

    Nothing else reads these two columns, and the object stays as it is until then.
    """
    observations = apps.get_model("scheduler_view", "Observation").objects
    observations.filter(kind__in=KINDS).update(resource_version="", digest="")


class Migration(migrations.Migration):

    dependencies = [
        ("scheduler_view", "0015_token_waits"),
    ]

    operations = [
        migrations.RunPython(read_again, migrations.RunPython.noop),
    ]
