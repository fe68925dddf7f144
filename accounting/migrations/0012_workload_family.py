"""The family of each workload: of its pods' label, else of its name (rules.md N41).

Rows that are there get theirs here, by the rule as it was when this migration was written.
"""

import django.db.models.deletion
from django.db import migrations, models

CODE = "[bcdfghjklmnpqrstvwxz2456789]"
TIME = "(?:[t-]?[0-9]{2}-?[0-9]{2}(?:-?[0-9]{2})?z?)?"
GENERATED = "|".join(
    (
        "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        f"(?:19|20)[0-9]{{2}}-[01][0-9]-[0-3][0-9]{TIME}",
        f"(?:19|20)[0-9]{{2}}[01][0-9][0-3][0-9]{TIME}",
        f"raycluster-{CODE}{{5}}",
        f"(?!(?:nv|mx)fp[0-9](?:-|$)){CODE}{{5,10}}",
        "(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{7,40}",
        "(?!(?:19|20)[0-9]{2}(?:-|$))[0-9]+",
    )
)
REVISION = "-[0-9]{5}-deployment$"
BY_NAME = f"""
UPDATE accounting_workload SET family = CASE
    WHEN kind IN ('CronJob', 'DaemonSet', 'Deployment', 'StatefulSet')
        THEN regexp_replace(name, '{REVISION}', '')
    WHEN kind = 'ReplicaSet'
        THEN regexp_replace(regexp_replace(name, '-{CODE}{{5,10}}$', ''), '{REVISION}', '')
    ELSE regexp_replace(name, '(?:-(?:{GENERATED}))+$', '')
    END
"""
BY_LABEL = """
UPDATE accounting_workload w SET family = l.value, family_pod_id = l.pod_id
FROM (
    SELECT DISTINCT ON (p.workload_id) p.workload_id, p.id AS pod_id, s.value
    FROM accounting_pod p
    CROSS JOIN LATERAL (
        SELECT o.seen -> 1 ->> 'label_family' AS value
        FROM jsonb_array_elements(p.record -> 'labels') WITH ORDINALITY AS o(seen, number)
        WHERE o.seen -> 1 ->> 'label_family' ~ '^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$'
        ORDER BY o.number DESC LIMIT 1
    ) s
    WHERE p.record -> 'labels' @? '$[*].label_family' AND p.workload_id IS NOT NULL
    ORDER BY p.workload_id, coalesce((p.record ->> 'created_ms')::bigint, 0) DESC,
             p.uid COLLATE "C" DESC
) l WHERE w.id = l.workload_id
"""
PURPOSES = [
    ("workload_type", "Workload Type"),
    ("lifecycle", "Lifecycle"),
    ("owner", "Owner"),
    ("family", "Family"),
]


class Migration(migrations.Migration):
    dependencies = [("accounting", "0011_scraper_scales")]

    operations = [
        migrations.AddField(
            model_name="workload",
            name="family",
            field=models.CharField(blank=True, db_default="", default="", max_length=253),
        ),
        migrations.AddField(
            model_name="workload",
            name="family_pod",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="accounting.pod",
            ),
        ),
        migrations.RunSQL(BY_NAME, migrations.RunSQL.noop),
        migrations.RunSQL(BY_LABEL, migrations.RunSQL.noop),
        *(
            migrations.AlterField(
                model_name=name,
                name="purpose",
                field=models.CharField(choices=PURPOSES, max_length=16),
            )
            for name in ("labelspelling", "labelspellingevent")
        ),
    ]
