"""Hours of booked lines, divided once.

Those of a closed period never change; a worker adds those of the periods that are closed already.
"""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

FREEZE = """
CREATE TRIGGER frozen BEFORE UPDATE OR DELETE ON line_hours
    FOR EACH ROW WHEN (accounting_is_frozen(OLD.revision_id))
    EXECUTE FUNCTION accounting_refuse_frozen();
CREATE TRIGGER frozen_truncate BEFORE TRUNCATE ON line_hours
    FOR EACH STATEMENT EXECUTE FUNCTION accounting_refuse_frozen();
"""
THAW = "DROP TRIGGER frozen ON line_hours; DROP TRIGGER frozen_truncate ON line_hours"


class Migration(migrations.Migration):

    dependencies = [
        ('accounting', '0013_workload_by_family'),
    ]

    operations = [
        migrations.CreateModel(
            name='LineHours',
            fields=[
                ('pk', models.CompositePrimaryKey('revision_id', 'line_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('line_id', models.CharField(max_length=32)),
                ('hours', django.contrib.postgres.fields.ArrayField(base_field=models.DateTimeField(), size=None)),
                ('parts', django.contrib.postgres.fields.ArrayField(base_field=models.DecimalField(decimal_places=6, max_digits=26), size=None)),
                ('revision', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.CASCADE, related_name='line_hours', to='accounting.periodrevision')),
            ],
            options={
                'db_table': 'line_hours',
            },
        ),
        migrations.RunSQL(FREEZE, THAW),
    ]
