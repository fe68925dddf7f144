"""Which kept samples are in the evidence already; those of before are folded once more."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounting', '0018_labels_of_holds'),
    ]

    operations = [
        migrations.AddField(
            model_name='bufferblock',
            name='folded_as',
            field=models.BinaryField(null=True),
        ),
    ]
