"""Forecasts of running months, as they were on the 10th and 20th day."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounting', '0014_costs_are_prices'),
    ]

    operations = [
        migrations.CreateModel(
            name='ForecastRecord',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('period_on', models.DateField()),
                ('day', models.PositiveSmallIntegerField()),
                ('currency', models.CharField(max_length=3)),
                ('amount', models.DecimalField(decimal_places=6, max_digits=24)),
                ('low', models.DecimalField(decimal_places=6, max_digits=24)),
                ('high', models.DecimalField(decimal_places=6, max_digits=24)),
                ('recorded_at', models.DateTimeField(auto_now_add=True)),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='forecasts', to='accounting.team')),
            ],
            options={
                'ordering': ['-period_on', 'day'],
                'constraints': [models.UniqueConstraint(fields=('team', 'period_on', 'day'), name='forecast_record_unique')],
            },
        ),
    ]
