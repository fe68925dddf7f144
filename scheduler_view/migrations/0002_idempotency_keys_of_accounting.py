"""Keys are in accounting, for all writes; they are kept for a day only."""

from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('scheduler_view', '0001_initial'),
    ]

    operations = [
        migrations.DeleteModel(
            name='IdempotencyKey',
        ),
    ]
