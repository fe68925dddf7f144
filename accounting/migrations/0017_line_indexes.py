"""Booked lines by day, and those of days that a month books later, without reading all lines of a month."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounting', '0016_hour_totals'),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='chargeline',
            name='charge_corrected',
        ),
        migrations.RemoveIndex(
            model_name='runningline',
            name='running_corrected',
        ),
        migrations.AlterField(
            model_name='chargeline',
            name='revision',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='lines', to='accounting.periodrevision'),
        ),
        migrations.AlterField(
            model_name='runningline',
            name='revision',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='running_lines', to='accounting.periodrevision'),
        ),
        migrations.AddIndex(
            model_name='chargeline',
            index=models.Index(fields=['revision', 'billing_on'], name='charge_day'),
        ),
        migrations.AddIndex(
            model_name='chargeline',
            index=models.Index(condition=models.Q(models.Q(('corrects', ''), _negated=True), ('kind__in', ['credit', 'adjustment']), _connector='OR'), fields=['revision', 'billing_on', 'cluster', 'namespace', 'workload', 'state'], name='charge_later'),
        ),
        migrations.AddIndex(
            model_name='runningline',
            index=models.Index(fields=['revision', 'billing_on'], name='running_day'),
        ),
        migrations.AddIndex(
            model_name='runningline',
            index=models.Index(condition=models.Q(models.Q(('corrects', ''), _negated=True), ('kind__in', ['credit', 'adjustment']), _connector='OR'), fields=['revision', 'billing_on', 'cluster', 'namespace', 'workload', 'state'], name='running_later'),
        ),
    ]
