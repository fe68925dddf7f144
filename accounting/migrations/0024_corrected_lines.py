"""Corrections of a booking are found without reading its other lines (money.md M32)."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounting', '0023_payers_of_a_close'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='chargeline',
            index=models.Index(condition=models.Q(('corrects', ''), _negated=True), fields=['revision', 'billing_on', 'cluster', 'namespace', 'workload', 'state'], name='charge_corrected'),
        ),
        migrations.AddIndex(
            model_name='runningline',
            index=models.Index(condition=models.Q(('corrects', ''), _negated=True), fields=['revision', 'billing_on', 'cluster', 'namespace', 'workload', 'state'], name='running_corrected'),
        ),
    ]
