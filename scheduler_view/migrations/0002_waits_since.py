"""Since when a unit waits, as a column: each row of the page of queues took a subquery before."""

from django.db import migrations, models

FILL = """
    UPDATE scheduler_view_waitrecord w SET waits_since = CASE
        WHEN w.kind IN ('Deployment', 'ReplicaSet', 'StatefulSet') THEN coalesce(
            (SELECT u.since FROM scheduler_view_unitwait u
             WHERE u.cluster_id = w.cluster_id AND u.kind = w.kind
               AND u.namespace = w.namespace AND u.name = w.name),
            w.created_at)
        ELSE w.created_at END
    WHERE w.stage <> ''
"""


class Migration(migrations.Migration):

    dependencies = [
        ('scheduler_view', '0001_scheduling'),
    ]

    operations = [
        migrations.AddField(
            model_name='waitrecord',
            name='waits_since',
            field=models.DateTimeField(null=True),
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        migrations.AddIndex(
            model_name='waitrecord',
            index=models.Index(condition=models.Q(('stage', ''), _negated=True), fields=['cluster', 'waits_since', 'id'], name='wait_record_oldest'),
        ),
    ]
