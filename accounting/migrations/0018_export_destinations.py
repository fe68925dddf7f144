"""Where scheduled files are for, and how many rows of a file are written (money.md M46)."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounting', '0017_contests'),
    ]

    operations = [
        migrations.AddField(
            model_name='exportjob',
            name='destination',
            field=models.CharField(blank=True, max_length=500),
        ),
        migrations.AddField(
            model_name='exportjob',
            name='rows_written',
            field=models.PositiveBigIntegerField(default=0),
        ),
        migrations.AddConstraint(
            model_name='exportjob',
            constraint=models.UniqueConstraint(condition=models.Q(('destination', ''), _negated=True), fields=('destination', 'period', 'revision', 'what', 'profile', 'format'), name='export_job_one_for_each_destination'),
        ),
    ]
