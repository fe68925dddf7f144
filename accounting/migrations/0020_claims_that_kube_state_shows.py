from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounting', '0019_folded_blocks'),
    ]

    operations = [
        migrations.AddField(
            model_name='resourceclaim',
            name='is_shown',
            field=models.BooleanField(default=False),
        ),
        # nobody knows it of those that are there: what was booked stays booked
        migrations.RunSQL(
            "UPDATE accounting_resourceclaim SET is_shown = true", migrations.RunSQL.noop
        ),
    ]
