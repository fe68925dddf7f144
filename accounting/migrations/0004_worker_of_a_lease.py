"""The worker of a window's lease in three columns: it was one text, split by each reader.

Nothing is carried over: workers stand still while a database is upgraded, and a window that
was claimed before has no session then, so it is due again at once.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounting", "0003_audit_chain")]

    operations = [
        migrations.RenameField("ingestwindow", "worker", "worker_host"),
        migrations.AddField(
            "ingestwindow", "worker_pid", models.IntegerField(null=True)
        ),
        migrations.AddField(
            "ingestwindow", "worker_since", models.DateTimeField(null=True)
        ),
    ]
