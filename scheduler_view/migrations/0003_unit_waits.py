"""Why work waits; it replaces stored events of refused pods."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('scheduler_view', '0002_idempotency_keys_of_accounting'),
    ]

    operations = [
        migrations.RunSQL(
            "DELETE FROM scheduler_view_observation WHERE kind = 'Event'",
            migrations.RunSQL.noop,
        ),
        migrations.CreateModel(
            name='UnitWait',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(max_length=63)),
                ('namespace', models.CharField(blank=True, max_length=63)),
                ('name', models.CharField(max_length=253)),
                ('stage', models.CharField(max_length=16)),
                ('cause', models.CharField(max_length=32)),
                ('since', models.DateTimeField(null=True)),
                ('cause_since', models.DateTimeField()),
                ('changed_at', models.DateTimeField()),
                ('digest', models.CharField(max_length=32)),
                ('content', models.JSONField()),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='unit_waits', to='accounting.cluster')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('cluster', 'kind', 'namespace', 'name'), name='unit_wait_unique')],
            },
        ),
    ]
