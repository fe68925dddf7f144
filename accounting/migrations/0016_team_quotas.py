"""Quotas of teams in GPUs, as weights of methods (money.md M23)."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounting', '0015_forecast_records'),
    ]

    operations = [
        migrations.CreateModel(
            name='TeamQuota',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('milli_gpus', models.PositiveBigIntegerField()),
                ('valid_from', models.DateTimeField()),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='accounting.cluster')),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to='accounting.team')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('cluster', 'team', 'valid_from'), name='team_quota_unique')],
            },
        ),
    ]
