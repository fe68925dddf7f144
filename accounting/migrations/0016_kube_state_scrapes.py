"""When kube-state was read at all times, and who showed which node.

Spans of scrapes are made of the times that are stored by the hour; who showed a node is known
from its next samples on.
"""

import zlib
from itertools import pairwise

import django.db.models.deletion
import numpy as np
from django.db import migrations, models




def make_spans(apps, schema_editor):
    """The spans of every scraper whose scrapes are stored."""
    Hour = apps.get_model("accounting", "ScrapeHour")
    Span = apps.get_model("accounting", "ScrapeSpan")
    for scraper_id in Hour.objects.values_list("scraper_id", flat=True).distinct():
        times = []
        rows = Hour.objects.filter(scraper_id=scraper_id).order_by("hour_start")
        for at, packed in rows.values_list("hour_start", "times").iterator():
            steps = np.frombuffer(zlib.decompress(bytes(packed)), "<i4")
            start_ms = round(at.timestamp() * 1000)
            times += (np.cumsum(steps.astype(np.int64)) + start_ms).tolist()
        gaps = sorted(b - a for a, b in pairwise(times))
        step = min(gaps[(len(gaps) - 1) // 2], 300_000) if gaps else 30_000
        spans = []
        for at in times:
            if spans and 2 * (at - spans[-1][1]) <= 3 * step:
                spans[-1][1] = at
            else:
                spans.append([at, at])
        Span.objects.bulk_create(
            [
                Span(scraper_id=scraper_id, first_ms=a, last_ms=b, step_ms=step)
                for a, b in spans
            ]
        )


class Migration(migrations.Migration):

    dependencies = [
        ('accounting', '0015_end_of_a_cluster'),
    ]

    operations = [
        migrations.RemoveField(
            model_name='scraper',
            name='group',
        ),
        migrations.CreateModel(
            name='NodeScraper',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('node', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='accounting.node')),
                ('scraper', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='accounting.scraper')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('node', 'scraper'), name='node_scraper_unique')],
            },
        ),
        migrations.CreateModel(
            name='ScrapeSpan',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('first_ms', models.BigIntegerField()),
                ('last_ms', models.BigIntegerField()),
                ('step_ms', models.IntegerField()),
                ('scraper', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='spans', to='accounting.scraper')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('scraper', 'first_ms'), name='scrape_span_unique')],
            },
        ),
        migrations.RunPython(make_spans, migrations.RunPython.noop),
    ]
