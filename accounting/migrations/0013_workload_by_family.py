"""Finds the workloads of a family; apart from the rows that get theirs, in a transaction of its own."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounting", "0012_workload_family")]

    operations = [
        migrations.AddIndex(
            model_name="workload",
            index=models.Index(fields=["namespace", "family"], name="workload_by_family"),
        ),
    ]
