import django.contrib.postgres.constraints
import django.db.models.deletion
import django.db.models.functions.comparison
import pgtrigger.compiler
import pgtrigger.migrations
from django.conf import settings
from django.db import migrations, models

import accounting.models.organisation


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounting", "0001_extensions"),
        ("pghistory", "0007_auto_20250421_0444"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="UsageDay",
            fields=[
                ("busy_ms", models.BigIntegerField(default=0)),
                ("idle_ms", models.BigIntegerField(default=0)),
                ("unknown_ms", models.BigIntegerField(default=0)),
                ("free_ms", models.BigIntegerField(default=0)),
                ("stranded_ms", models.BigIntegerField(default=0)),
                ("stray_ms", models.BigIntegerField(default=0)),
                ("dark_ms", models.BigIntegerField(default=0)),
                ("billing_on", models.DateField()),
                ("namespace_id", models.BigIntegerField(default=0)),
                ("team_id", models.BigIntegerField(default=0)),
                ("workload_id", models.BigIntegerField(default=0)),
                ("workload_type", models.CharField(default="", max_length=32)),
                ("model", models.CharField(default="", max_length=200)),
                ("lifecycle", models.CharField(default="unknown", max_length=16)),
                ("tier", models.CharField(default="", max_length=253)),
                ("price_id", models.BigIntegerField(default=0)),
                ("gpu_price_id", models.BigIntegerField(default=0)),
                (
                    "rate",
                    models.DecimalField(decimal_places=6, max_digits=12, null=True),
                ),
                (
                    "cost",
                    models.DecimalField(decimal_places=6, max_digits=12, null=True),
                ),
                (
                    "gpu_rate",
                    models.DecimalField(decimal_places=6, max_digits=12, null=True),
                ),
                (
                    "gpu_cost",
                    models.DecimalField(decimal_places=6, max_digits=12, null=True),
                ),
                ("currency", models.CharField(default="", max_length=3)),
                ("estimated_ms", models.BigIntegerField(default=0)),
                ("samples_expected", models.BigIntegerField(default=0)),
                ("samples_used", models.BigIntegerField(default=0)),
                ("peak_memory_bytes", models.BigIntegerField(null=True)),
                ("energy_mj", models.BigIntegerField(null=True)),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "cluster_id",
                        "billing_on",
                        "namespace_id",
                        "team_id",
                        "workload_id",
                        "workload_type",
                        "model",
                        "lifecycle",
                        "tier",
                        "price_id",
                        "gpu_price_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("cluster_id", models.SmallIntegerField()),
            ],
            options={
                "db_table": "usage_day",
                "managed": False,
            },
        ),
        migrations.CreateModel(
            name="UsageHour",
            fields=[
                ("busy_ms", models.BigIntegerField(default=0)),
                ("idle_ms", models.BigIntegerField(default=0)),
                ("unknown_ms", models.BigIntegerField(default=0)),
                ("free_ms", models.BigIntegerField(default=0)),
                ("stranded_ms", models.BigIntegerField(default=0)),
                ("stray_ms", models.BigIntegerField(default=0)),
                ("dark_ms", models.BigIntegerField(default=0)),
                ("billing_on", models.DateField()),
                ("namespace_id", models.BigIntegerField(default=0)),
                ("team_id", models.BigIntegerField(default=0)),
                ("workload_id", models.BigIntegerField(default=0)),
                ("workload_type", models.CharField(default="", max_length=32)),
                ("model", models.CharField(default="", max_length=200)),
                ("lifecycle", models.CharField(default="unknown", max_length=16)),
                ("tier", models.CharField(default="", max_length=253)),
                ("price_id", models.BigIntegerField(default=0)),
                ("gpu_price_id", models.BigIntegerField(default=0)),
                (
                    "rate",
                    models.DecimalField(decimal_places=6, max_digits=12, null=True),
                ),
                (
                    "cost",
                    models.DecimalField(decimal_places=6, max_digits=12, null=True),
                ),
                (
                    "gpu_rate",
                    models.DecimalField(decimal_places=6, max_digits=12, null=True),
                ),
                (
                    "gpu_cost",
                    models.DecimalField(decimal_places=6, max_digits=12, null=True),
                ),
                ("currency", models.CharField(default="", max_length=3)),
                ("estimated_ms", models.BigIntegerField(default=0)),
                ("samples_expected", models.BigIntegerField(default=0)),
                ("samples_used", models.BigIntegerField(default=0)),
                ("peak_memory_bytes", models.BigIntegerField(null=True)),
                ("energy_mj", models.BigIntegerField(null=True)),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "cluster_id",
                        "hour_start",
                        "billing_on",
                        "namespace_id",
                        "team_id",
                        "workload_id",
                        "workload_type",
                        "model",
                        "lifecycle",
                        "tier",
                        "price_id",
                        "gpu_price_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("cluster_id", models.SmallIntegerField()),
                ("hour_start", models.DateTimeField()),
            ],
            options={
                "db_table": "usage_hour",
                "managed": False,
            },
        ),
        migrations.CreateModel(
            name="UsageWindow",
            fields=[
                ("busy_ms", models.BigIntegerField(default=0)),
                ("idle_ms", models.BigIntegerField(default=0)),
                ("unknown_ms", models.BigIntegerField(default=0)),
                ("free_ms", models.BigIntegerField(default=0)),
                ("stranded_ms", models.BigIntegerField(default=0)),
                ("stray_ms", models.BigIntegerField(default=0)),
                ("dark_ms", models.BigIntegerField(default=0)),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "cluster_id",
                        "window_start",
                        "gpu_id",
                        "instance",
                        "pod_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("cluster_id", models.SmallIntegerField()),
                ("window_start", models.DateTimeField()),
                ("gpu_id", models.BigIntegerField()),
                ("instance", models.SmallIntegerField(default=-1)),
                ("pod_id", models.BigIntegerField(default=0)),
                ("node_id", models.BigIntegerField()),
                (
                    "flags",
                    models.SmallIntegerField(
                        choices=[(1, "Estimated"), (2, "Inferred"), (4, "Suspect")],
                        default=0,
                    ),
                ),
                (
                    "metric",
                    models.SmallIntegerField(
                        choices=[
                            (0, "None"),
                            (1, "Engine Active"),
                            (2, "Gpu Util"),
                            (3, "Other"),
                        ],
                        default=0,
                    ),
                ),
                ("samples_expected", models.IntegerField(default=0)),
                ("samples_used", models.IntegerField(default=0)),
                ("over_share_ms", models.BigIntegerField(default=0)),
                ("peak_memory_bytes", models.BigIntegerField(null=True)),
                ("energy_mj", models.BigIntegerField(null=True)),
            ],
            options={
                "db_table": "usage_window",
                "managed": False,
            },
        ),
        migrations.CreateModel(
            name="Billing",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("currency", models.CharField(max_length=3)),
                ("timezone", models.CharField(max_length=64)),
                ("valid_from", models.DateTimeField(unique=True)),
            ],
            options={
                "ordering": ["valid_from"],
            },
        ),
        migrations.CreateModel(
            name="BillingEvent",
            fields=[
                ("pgh_id", models.AutoField(primary_key=True, serialize=False)),
                ("pgh_created_at", models.DateTimeField(auto_now_add=True)),
                ("pgh_label", models.TextField(help_text="The event label.")),
                ("id", models.BigIntegerField()),
                ("currency", models.CharField(max_length=3)),
                ("timezone", models.CharField(max_length=64)),
                ("valid_from", models.DateTimeField()),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="Binding",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("namespace", "Namespace"),
                            ("namespace_label", "Namespace Label"),
                            ("pod_label", "Pod Label"),
                        ],
                        max_length=16,
                    ),
                ),
                ("label", models.CharField(blank=True, max_length=317)),
                ("glob", models.CharField(max_length=253)),
                ("position", models.PositiveIntegerField()),
                ("valid_from", models.DateTimeField()),
                ("valid_to", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ["position", "id"],
            },
        ),
        migrations.CreateModel(
            name="BindingEvent",
            fields=[
                ("pgh_id", models.AutoField(primary_key=True, serialize=False)),
                ("pgh_created_at", models.DateTimeField(auto_now_add=True)),
                ("pgh_label", models.TextField(help_text="The event label.")),
                ("id", models.BigIntegerField()),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("namespace", "Namespace"),
                            ("namespace_label", "Namespace Label"),
                            ("pod_label", "Pod Label"),
                        ],
                        max_length=16,
                    ),
                ),
                ("label", models.CharField(blank=True, max_length=317)),
                ("glob", models.CharField(max_length=253)),
                ("position", models.PositiveIntegerField()),
                ("valid_from", models.DateTimeField()),
                ("valid_to", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="BufferBlock",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("hour_start", models.DateTimeField()),
                ("content_hash", models.BinaryField()),
                ("first_ms", models.BigIntegerField()),
                ("last_ms", models.BigIntegerField()),
                ("samples", models.PositiveIntegerField()),
                ("payload", models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name="BufferSeries",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("digest", models.BinaryField()),
                ("name", models.CharField(max_length=300)),
                ("labels", models.JSONField()),
            ],
        ),
        migrations.CreateModel(
            name="Cluster",
            fields=[
                ("id", models.SmallAutoField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=63, unique=True)),
                ("kubernetes", models.JSONField(blank=True, default=dict)),
                ("shard_count", models.PositiveSmallIntegerField(default=1)),
                ("is_demo", models.BooleanField(default=False)),
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="ClusterEvent",
            fields=[
                ("pgh_id", models.AutoField(primary_key=True, serialize=False)),
                ("pgh_created_at", models.DateTimeField(auto_now_add=True)),
                ("pgh_label", models.TextField(help_text="The event label.")),
                ("id", models.IntegerField()),
                ("name", models.CharField(max_length=63)),
                ("kubernetes", models.JSONField(blank=True, default=dict)),
                ("shard_count", models.PositiveSmallIntegerField(default=1)),
                ("is_demo", models.BooleanField(default=False)),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="DataIssue",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("code", models.CharField(max_length=40)),
                ("subject", models.CharField(max_length=500)),
                (
                    "severity",
                    models.CharField(
                        choices=[
                            ("info", "Info"),
                            ("warning", "Warning"),
                            ("error", "Error"),
                        ],
                        default="warning",
                        max_length=7,
                    ),
                ),
                ("message", models.TextField()),
                ("advice", models.TextField(blank=True)),
                ("first_seen", models.DateTimeField()),
                ("last_seen", models.DateTimeField()),
                ("at_stake_ms", models.BigIntegerField(default=0)),
                (
                    "at_stake_charge",
                    models.DecimalField(decimal_places=6, max_digits=20, null=True),
                ),
                ("count", models.PositiveIntegerField(default=1)),
                ("resolved_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="DirtyHour",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("hour_start", models.DateTimeField()),
                ("marked_at", models.DateTimeField(auto_now_add=True)),
                ("reason", models.CharField(max_length=40)),
            ],
        ),
        migrations.CreateModel(
            name="Gpu",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("uuid", models.CharField(max_length=300)),
                ("is_placeholder", models.BooleanField(default=False)),
                ("model", models.CharField(blank=True, max_length=200)),
            ],
        ),
        migrations.CreateModel(
            name="GpuLabelHour",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("hour_start", models.DateTimeField()),
                ("instance", models.CharField(blank=True, max_length=16)),
                ("vgpu", models.CharField(blank=True, max_length=16)),
                ("namespace", models.CharField(max_length=63)),
                ("pod", models.CharField(max_length=253)),
                ("pod_uid", models.CharField(blank=True, max_length=64)),
                ("is_plain", models.BooleanField()),
                ("times", models.BinaryField()),
                ("steps", models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name="GpuPresence",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("start_ms", models.BigIntegerField()),
                ("end_ms", models.BigIntegerField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="GpuSpan",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("first_ms", models.BigIntegerField()),
                ("last_ms", models.BigIntegerField()),
                ("step_ms", models.PositiveIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="IngestWindow",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("shard", models.PositiveSmallIntegerField(default=0)),
                ("window_start", models.DateTimeField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("claimed", "Claimed"),
                            ("done", "Done"),
                            ("partial", "Partial"),
                            ("failed", "Failed"),
                        ],
                        default="pending",
                        max_length=8,
                    ),
                ),
                ("fence", models.BigIntegerField(default=0)),
                ("lease_until", models.DateTimeField(null=True)),
                ("worker", models.CharField(blank=True, max_length=200)),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("next_attempt_at", models.DateTimeField(null=True)),
                ("last_error", models.TextField(blank=True)),
                ("reason", models.CharField(blank=True, max_length=40)),
                ("content_hash", models.BinaryField(null=True)),
                ("rows", models.PositiveIntegerField(default=0)),
                ("samples_expected", models.PositiveIntegerField(default=0)),
                ("samples_seen", models.PositiveIntegerField(default=0)),
                ("read_ms", models.PositiveIntegerField(default=0)),
                ("read_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="LabelSpelling",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                (
                    "purpose",
                    models.CharField(
                        choices=[
                            ("workload_type", "Workload Type"),
                            ("lifecycle", "Lifecycle"),
                            ("owner", "Owner"),
                        ],
                        max_length=16,
                    ),
                ),
                ("label", models.CharField(max_length=317)),
                ("position", models.PositiveIntegerField(default=0)),
            ],
            options={
                "ordering": ["purpose", "position"],
            },
        ),
        migrations.CreateModel(
            name="LabelSpellingEvent",
            fields=[
                ("pgh_id", models.AutoField(primary_key=True, serialize=False)),
                ("pgh_created_at", models.DateTimeField(auto_now_add=True)),
                ("pgh_label", models.TextField(help_text="The event label.")),
                ("id", models.BigIntegerField()),
                (
                    "purpose",
                    models.CharField(
                        choices=[
                            ("workload_type", "Workload Type"),
                            ("lifecycle", "Lifecycle"),
                            ("owner", "Owner"),
                        ],
                        max_length=16,
                    ),
                ),
                ("label", models.CharField(max_length=317)),
                ("position", models.PositiveIntegerField(default=0)),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="Membership",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                (
                    "role",
                    models.CharField(
                        choices=[("viewer", "Viewer"), ("lead", "Lead")],
                        default="viewer",
                        max_length=6,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="MembershipEvent",
            fields=[
                ("pgh_id", models.AutoField(primary_key=True, serialize=False)),
                ("pgh_created_at", models.DateTimeField(auto_now_add=True)),
                ("pgh_label", models.TextField(help_text="The event label.")),
                ("id", models.BigIntegerField()),
                (
                    "role",
                    models.CharField(
                        choices=[("viewer", "Viewer"), ("lead", "Lead")],
                        default="viewer",
                        max_length=6,
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="Namespace",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("name", models.CharField(max_length=63)),
            ],
        ),
        migrations.CreateModel(
            name="NamespaceLabels",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("valid_from", models.DateTimeField()),
                ("labels", models.JSONField(default=dict)),
            ],
        ),
        migrations.CreateModel(
            name="Node",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("name", models.CharField(max_length=253)),
            ],
        ),
        migrations.CreateModel(
            name="NodeFact",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("valid_from", models.DateTimeField()),
                ("capacity", models.JSONField(default=dict)),
                ("labels", models.JSONField(default=dict)),
                ("model", models.CharField(blank=True, max_length=200)),
                ("lifecycle", models.CharField(default="unknown", max_length=16)),
                ("instance_type", models.CharField(blank=True, max_length=100)),
                ("zone", models.CharField(blank=True, max_length=100)),
            ],
        ),
        migrations.CreateModel(
            name="NodeSpan",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("first_ms", models.BigIntegerField()),
                ("last_ms", models.BigIntegerField()),
                ("step_ms", models.PositiveIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="Owner",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("kind", models.CharField(max_length=63)),
                ("name", models.CharField(max_length=253)),
                ("owner_kind", models.CharField(max_length=63)),
                ("owner_name", models.CharField(max_length=253)),
            ],
        ),
        migrations.CreateModel(
            name="OwnPod",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("namespace", models.CharField(max_length=63)),
                ("pod", models.CharField(max_length=253)),
            ],
        ),
        migrations.CreateModel(
            name="Person",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("none", "None"),
                            ("finance", "Finance"),
                            ("admin", "Admin"),
                        ],
                        default="none",
                        max_length=8,
                    ),
                ),
                ("theme", models.CharField(default="system", max_length=6)),
                ("density", models.CharField(default="comfortable", max_length=11)),
                ("timezone", models.CharField(blank=True, max_length=64)),
            ],
        ),
        migrations.CreateModel(
            name="PersonEvent",
            fields=[
                ("pgh_id", models.AutoField(primary_key=True, serialize=False)),
                ("pgh_created_at", models.DateTimeField(auto_now_add=True)),
                ("pgh_label", models.TextField(help_text="The event label.")),
                ("id", models.BigIntegerField()),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("none", "None"),
                            ("finance", "Finance"),
                            ("admin", "Admin"),
                        ],
                        default="none",
                        max_length=8,
                    ),
                ),
                ("theme", models.CharField(default="system", max_length=6)),
                ("density", models.CharField(default="comfortable", max_length=11)),
                ("timezone", models.CharField(blank=True, max_length=64)),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="Pod",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("uid", models.CharField(max_length=320)),
                ("name", models.CharField(max_length=253)),
                ("priority_class", models.CharField(blank=True, max_length=253)),
                ("is_inferred", models.BooleanField(default=False)),
                ("first_ms", models.BigIntegerField(null=True)),
                ("last_ms", models.BigIntegerField(null=True)),
                ("record", models.JSONField(default=dict)),
            ],
        ),
        migrations.CreateModel(
            name="PodAttribution",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("tier", models.CharField(blank=True, max_length=253)),
                ("workload_type", models.CharField(blank=True, max_length=32)),
                ("valid_from", models.DateTimeField()),
                ("valid_to", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="PodHold",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("resource", models.CharField(max_length=317)),
                ("units", models.PositiveIntegerField()),
                ("share_numerator", models.PositiveIntegerField(default=1)),
                ("share_denominator", models.PositiveIntegerField(default=1)),
                ("created_ms", models.BigIntegerField(null=True)),
                ("bound_ms", models.BigIntegerField()),
                ("ended_ms", models.BigIntegerField(null=True)),
                ("booked_until_ms", models.BigIntegerField(null=True)),
                (
                    "ended_by",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("Succeeded", "Succeeded"),
                            ("Failed", "Failed"),
                            ("gone", "Gone"),
                        ],
                        max_length=9,
                    ),
                ),
                ("is_inferred", models.BooleanField(default=False)),
                ("total_busy_ms", models.BigIntegerField(null=True)),
                ("total_idle_ms", models.BigIntegerField(null=True)),
                ("total_unknown_ms", models.BigIntegerField(null=True)),
                (
                    "total_charge",
                    models.DecimalField(decimal_places=6, max_digits=20, null=True),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ScrapeHour",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("hour_start", models.DateTimeField()),
                ("times", models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name="Scraper",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("job", models.CharField(blank=True, max_length=500)),
                ("instance", models.CharField(blank=True, max_length=500)),
                ("replica", models.CharField(blank=True, max_length=500)),
                ("shows_exported", models.BooleanField(default=False)),
                ("is_kube_state", models.BooleanField(default=False)),
                ("group", models.CharField(blank=True, max_length=64)),
            ],
        ),
        migrations.CreateModel(
            name="Source",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("name", models.CharField(max_length=63)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("prometheus", "Prometheus"),
                            ("scrape", "Scrape"),
                            ("openmetrics", "Openmetrics"),
                        ],
                        max_length=11,
                    ),
                ),
                ("settings", models.JSONField(blank=True, default=dict)),
                ("interval_s", models.PositiveIntegerField(blank=True, null=True)),
                ("scales", models.JSONField(blank=True, default=dict)),
                ("is_active", models.BooleanField(default=True)),
                ("last_read_at", models.DateTimeField(blank=True, null=True)),
                ("last_sample_at", models.DateTimeField(blank=True, null=True)),
                ("last_error", models.TextField(blank=True)),
            ],
            options={
                "ordering": ["cluster", "name"],
            },
        ),
        migrations.CreateModel(
            name="SourceEvent",
            fields=[
                ("pgh_id", models.AutoField(primary_key=True, serialize=False)),
                ("pgh_created_at", models.DateTimeField(auto_now_add=True)),
                ("pgh_label", models.TextField(help_text="The event label.")),
                ("id", models.BigIntegerField()),
                ("name", models.CharField(max_length=63)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("prometheus", "Prometheus"),
                            ("scrape", "Scrape"),
                            ("openmetrics", "Openmetrics"),
                        ],
                        max_length=11,
                    ),
                ),
                ("settings", models.JSONField(blank=True, default=dict)),
                ("interval_s", models.PositiveIntegerField(blank=True, null=True)),
                ("scales", models.JSONField(blank=True, default=dict)),
                ("is_active", models.BooleanField(default=True)),
                ("last_read_at", models.DateTimeField(blank=True, null=True)),
                ("last_sample_at", models.DateTimeField(blank=True, null=True)),
                ("last_error", models.TextField(blank=True)),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="Team",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("slug", models.SlugField(max_length=63, unique=True)),
                ("name", models.CharField(max_length=200)),
                ("department", models.CharField(blank=True, max_length=200)),
                ("cost_centre", models.CharField(blank=True, max_length=100)),
                ("colour_slot", models.PositiveSmallIntegerField(default=0)),
            ],
            options={
                "ordering": ["slug"],
            },
        ),
        migrations.CreateModel(
            name="TeamEvent",
            fields=[
                ("pgh_id", models.AutoField(primary_key=True, serialize=False)),
                ("pgh_created_at", models.DateTimeField(auto_now_add=True)),
                ("pgh_label", models.TextField(help_text="The event label.")),
                ("id", models.BigIntegerField()),
                ("slug", models.SlugField(db_index=False, max_length=63)),
                ("name", models.CharField(max_length=200)),
                ("department", models.CharField(blank=True, max_length=200)),
                ("cost_centre", models.CharField(blank=True, max_length=100)),
                ("colour_slot", models.PositiveSmallIntegerField(default=0)),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="UnitPrice",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("model", models.CharField(max_length=200)),
                ("profile", models.CharField(blank=True, max_length=64)),
                ("lifecycle", models.CharField(blank=True, max_length=16)),
                ("tier", models.CharField(blank=True, max_length=253)),
                ("currency", models.CharField(max_length=3)),
                (
                    "rate_per_gpu_hour",
                    models.DecimalField(decimal_places=6, max_digits=12),
                ),
                (
                    "cost_per_gpu_hour",
                    models.DecimalField(
                        blank=True, decimal_places=6, max_digits=12, null=True
                    ),
                ),
                ("valid_from", models.DateTimeField()),
                ("valid_to", models.DateTimeField(blank=True, null=True)),
                ("source_note", models.CharField(blank=True, max_length=500)),
            ],
            options={
                "ordering": ["model", "valid_from", "id"],
            },
        ),
        migrations.CreateModel(
            name="UnitPriceEvent",
            fields=[
                ("pgh_id", models.AutoField(primary_key=True, serialize=False)),
                ("pgh_created_at", models.DateTimeField(auto_now_add=True)),
                ("pgh_label", models.TextField(help_text="The event label.")),
                ("id", models.BigIntegerField()),
                ("model", models.CharField(max_length=200)),
                ("profile", models.CharField(blank=True, max_length=64)),
                ("lifecycle", models.CharField(blank=True, max_length=16)),
                ("tier", models.CharField(blank=True, max_length=253)),
                ("currency", models.CharField(max_length=3)),
                (
                    "rate_per_gpu_hour",
                    models.DecimalField(decimal_places=6, max_digits=12),
                ),
                (
                    "cost_per_gpu_hour",
                    models.DecimalField(
                        blank=True, decimal_places=6, max_digits=12, null=True
                    ),
                ),
                ("valid_from", models.DateTimeField()),
                ("valid_to", models.DateTimeField(blank=True, null=True)),
                ("source_note", models.CharField(blank=True, max_length=500)),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="Workload",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("kind", models.CharField(max_length=63)),
                ("name", models.CharField(max_length=253)),
                ("type", models.CharField(blank=True, max_length=32)),
            ],
        ),
        migrations.CreateModel(
            name="ApiToken",
            fields=[
                (
                    "digest",
                    models.CharField(max_length=128, primary_key=True, serialize=False),
                ),
                ("token_key", models.CharField(db_index=True, max_length=25)),
                ("created", models.DateTimeField(auto_now_add=True)),
                ("expiry", models.DateTimeField(blank=True, null=True)),
                ("name", models.CharField(max_length=100)),
                ("scopes", models.JSONField(default=list)),
                ("last_used_at", models.DateTimeField(blank=True, null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="auth_token_set",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="billing",
            trigger=pgtrigger.compiler.Trigger(
                name="insert_insert",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='INSERT INTO "accounting_billingevent" ("currency", "id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "timezone", "valid_from") VALUES (NEW."currency", NEW."id", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."timezone", NEW."valid_from"); RETURN NULL;',
                    hash="3ef5478b48ff07c67211587fb51abfc40da361f7",
                    operation="INSERT",
                    pgid="pgtrigger_insert_insert_463eb",
                    table="accounting_billing",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="billing",
            trigger=pgtrigger.compiler.Trigger(
                name="update_update",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    condition="WHEN (OLD.* IS DISTINCT FROM NEW.*)",
                    func='INSERT INTO "accounting_billingevent" ("currency", "id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "timezone", "valid_from") VALUES (NEW."currency", NEW."id", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."timezone", NEW."valid_from"); RETURN NULL;',
                    hash="c5ac36c1953ecaa8c483701deaa2e80309aa8cdd",
                    operation="UPDATE",
                    pgid="pgtrigger_update_update_217c2",
                    table="accounting_billing",
                    when="AFTER",
                ),
            ),
        ),
        migrations.AddField(
            model_name="billingevent",
            name="pgh_context",
            field=models.ForeignKey(
                db_constraint=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="pghistory.context",
            ),
        ),
        migrations.AddField(
            model_name="billingevent",
            name="pgh_obj",
            field=models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="events",
                to="accounting.billing",
            ),
        ),
        migrations.AddField(
            model_name="bindingevent",
            name="pgh_context",
            field=models.ForeignKey(
                db_constraint=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="pghistory.context",
            ),
        ),
        migrations.AddField(
            model_name="bindingevent",
            name="pgh_obj",
            field=models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="events",
                to="accounting.binding",
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="cluster",
            trigger=pgtrigger.compiler.Trigger(
                name="insert_insert",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='INSERT INTO "accounting_clusterevent" ("id", "is_demo", "kubernetes", "name", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "shard_count") VALUES (NEW."id", NEW."is_demo", NEW."kubernetes", NEW."name", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."shard_count"); RETURN NULL;',
                    hash="6bdf3dd8624c358f0d4d1ca8869853d691521707",
                    operation="INSERT",
                    pgid="pgtrigger_insert_insert_d635c",
                    table="accounting_cluster",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="cluster",
            trigger=pgtrigger.compiler.Trigger(
                name="update_update",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    condition="WHEN (OLD.* IS DISTINCT FROM NEW.*)",
                    func='INSERT INTO "accounting_clusterevent" ("id", "is_demo", "kubernetes", "name", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "shard_count") VALUES (NEW."id", NEW."is_demo", NEW."kubernetes", NEW."name", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."shard_count"); RETURN NULL;',
                    hash="0640175debd1c988f78ebea7e86d1db9d238dfbe",
                    operation="UPDATE",
                    pgid="pgtrigger_update_update_c2974",
                    table="accounting_cluster",
                    when="AFTER",
                ),
            ),
        ),
        migrations.AddField(
            model_name="clusterevent",
            name="pgh_context",
            field=models.ForeignKey(
                db_constraint=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="pghistory.context",
            ),
        ),
        migrations.AddField(
            model_name="clusterevent",
            name="pgh_obj",
            field=models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="events",
                to="accounting.cluster",
            ),
        ),
        migrations.AddField(
            model_name="dataissue",
            name="cluster",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                to="accounting.cluster",
            ),
        ),
        migrations.AddField(
            model_name="dirtyhour",
            name="cluster",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, to="accounting.cluster"
            ),
        ),
        migrations.AddField(
            model_name="gpu",
            name="cluster",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="gpus",
                to="accounting.cluster",
            ),
        ),
        migrations.AddField(
            model_name="gpulabelhour",
            name="gpu",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, to="accounting.gpu"
            ),
        ),
        migrations.AddField(
            model_name="gpupresence",
            name="gpu",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="presences",
                to="accounting.gpu",
            ),
        ),
        migrations.AddField(
            model_name="gpuspan",
            name="gpu",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="spans",
                to="accounting.gpu",
            ),
        ),
        migrations.AddField(
            model_name="ingestwindow",
            name="cluster",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, to="accounting.cluster"
            ),
        ),
        migrations.AddConstraint(
            model_name="labelspelling",
            constraint=models.UniqueConstraint(
                fields=("purpose", "label"), name="label_spelling_unique"
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="labelspelling",
            trigger=pgtrigger.compiler.Trigger(
                name="insert_insert",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='INSERT INTO "accounting_labelspellingevent" ("id", "label", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "position", "purpose") VALUES (NEW."id", NEW."label", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."position", NEW."purpose"); RETURN NULL;',
                    hash="9ac527066224464137ff27f163f58e81d76d61d3",
                    operation="INSERT",
                    pgid="pgtrigger_insert_insert_835c8",
                    table="accounting_labelspelling",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="labelspelling",
            trigger=pgtrigger.compiler.Trigger(
                name="update_update",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    condition="WHEN (OLD.* IS DISTINCT FROM NEW.*)",
                    func='INSERT INTO "accounting_labelspellingevent" ("id", "label", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "position", "purpose") VALUES (NEW."id", NEW."label", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."position", NEW."purpose"); RETURN NULL;',
                    hash="86cef89638042d626a40a8bfb2cc4593d8630c59",
                    operation="UPDATE",
                    pgid="pgtrigger_update_update_0f123",
                    table="accounting_labelspelling",
                    when="AFTER",
                ),
            ),
        ),
        migrations.AddField(
            model_name="labelspellingevent",
            name="pgh_context",
            field=models.ForeignKey(
                db_constraint=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="pghistory.context",
            ),
        ),
        migrations.AddField(
            model_name="labelspellingevent",
            name="pgh_obj",
            field=models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="events",
                to="accounting.labelspelling",
            ),
        ),
        migrations.AddField(
            model_name="membership",
            name="user",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="memberships",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="membershipevent",
            name="pgh_context",
            field=models.ForeignKey(
                db_constraint=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="pghistory.context",
            ),
        ),
        migrations.AddField(
            model_name="membershipevent",
            name="pgh_obj",
            field=models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="events",
                to="accounting.membership",
            ),
        ),
        migrations.AddField(
            model_name="membershipevent",
            name="user",
            field=models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                related_query_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="namespace",
            name="cluster",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, to="accounting.cluster"
            ),
        ),
        migrations.AddField(
            model_name="namespacelabels",
            name="namespace",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="label_history",
                to="accounting.namespace",
            ),
        ),
        migrations.AddField(
            model_name="node",
            name="cluster",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="nodes",
                to="accounting.cluster",
            ),
        ),
        migrations.AddField(
            model_name="gpuspan",
            name="node",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, to="accounting.node"
            ),
        ),
        migrations.AddField(
            model_name="gpupresence",
            name="node",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="presences",
                to="accounting.node",
            ),
        ),
        migrations.AddField(
            model_name="nodefact",
            name="node",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="facts",
                to="accounting.node",
            ),
        ),
        migrations.AddField(
            model_name="nodespan",
            name="node",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="spans",
                to="accounting.node",
            ),
        ),
        migrations.AddField(
            model_name="owner",
            name="namespace",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, to="accounting.namespace"
            ),
        ),
        migrations.AddField(
            model_name="ownpod",
            name="cluster",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, to="accounting.cluster"
            ),
        ),
        migrations.AddField(
            model_name="person",
            name="user",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="person",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="personevent",
            name="pgh_context",
            field=models.ForeignKey(
                db_constraint=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="pghistory.context",
            ),
        ),
        migrations.AddField(
            model_name="personevent",
            name="pgh_obj",
            field=models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="events",
                to="accounting.person",
            ),
        ),
        migrations.AddField(
            model_name="personevent",
            name="user",
            field=models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                related_query_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="pod",
            name="cluster",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="pods",
                to="accounting.cluster",
            ),
        ),
        migrations.AddField(
            model_name="pod",
            name="namespace",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, to="accounting.namespace"
            ),
        ),
        migrations.AddField(
            model_name="pod",
            name="node",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                to="accounting.node",
            ),
        ),
        migrations.AddField(
            model_name="podattribution",
            name="pod",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="attributions",
                to="accounting.pod",
            ),
        ),
        migrations.AddField(
            model_name="podhold",
            name="node",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, to="accounting.node"
            ),
        ),
        migrations.AddField(
            model_name="podhold",
            name="pod",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="holds",
                to="accounting.pod",
            ),
        ),
        migrations.AddField(
            model_name="scraper",
            name="cluster",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, to="accounting.cluster"
            ),
        ),
        migrations.AddField(
            model_name="scrapehour",
            name="scraper",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, to="accounting.scraper"
            ),
        ),
        migrations.AddField(
            model_name="source",
            name="cluster",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="sources",
                to="accounting.cluster",
            ),
        ),
        migrations.AddField(
            model_name="bufferseries",
            name="source",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, to="accounting.source"
            ),
        ),
        migrations.AddField(
            model_name="bufferblock",
            name="source",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, to="accounting.source"
            ),
        ),
        migrations.AddField(
            model_name="sourceevent",
            name="cluster",
            field=models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                related_query_name="+",
                to="accounting.cluster",
            ),
        ),
        migrations.AddField(
            model_name="sourceevent",
            name="pgh_context",
            field=models.ForeignKey(
                db_constraint=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="pghistory.context",
            ),
        ),
        migrations.AddField(
            model_name="sourceevent",
            name="pgh_obj",
            field=models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="events",
                to="accounting.source",
            ),
        ),
        migrations.AddField(
            model_name="podattribution",
            name="team",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                to="accounting.team",
            ),
        ),
        migrations.AddField(
            model_name="membershipevent",
            name="team",
            field=models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                related_query_name="+",
                to="accounting.team",
            ),
        ),
        migrations.AddField(
            model_name="membership",
            name="team",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="memberships",
                to="accounting.team",
            ),
        ),
        migrations.AddField(
            model_name="bindingevent",
            name="team",
            field=models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                related_query_name="+",
                to="accounting.team",
            ),
        ),
        migrations.AddField(
            model_name="binding",
            name="team",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="bindings",
                to="accounting.team",
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="team",
            trigger=pgtrigger.compiler.Trigger(
                name="insert_insert",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='INSERT INTO "accounting_teamevent" ("colour_slot", "cost_centre", "department", "id", "name", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "slug") VALUES (NEW."colour_slot", NEW."cost_centre", NEW."department", NEW."id", NEW."name", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."slug"); RETURN NULL;',
                    hash="ad7eb41dfdef6fa2fab5d3c3fa242c0463ed6a21",
                    operation="INSERT",
                    pgid="pgtrigger_insert_insert_27d46",
                    table="accounting_team",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="team",
            trigger=pgtrigger.compiler.Trigger(
                name="update_update",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    condition="WHEN (OLD.* IS DISTINCT FROM NEW.*)",
                    func='INSERT INTO "accounting_teamevent" ("colour_slot", "cost_centre", "department", "id", "name", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "slug") VALUES (NEW."colour_slot", NEW."cost_centre", NEW."department", NEW."id", NEW."name", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."slug"); RETURN NULL;',
                    hash="72f4f69804a8c8f37ac1dfe20c2b7d5726ec6892",
                    operation="UPDATE",
                    pgid="pgtrigger_update_update_af08a",
                    table="accounting_team",
                    when="AFTER",
                ),
            ),
        ),
        migrations.AddField(
            model_name="teamevent",
            name="pgh_context",
            field=models.ForeignKey(
                db_constraint=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="pghistory.context",
            ),
        ),
        migrations.AddField(
            model_name="teamevent",
            name="pgh_obj",
            field=models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="events",
                to="accounting.team",
            ),
        ),
        migrations.AddField(
            model_name="unitprice",
            name="cluster",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                to="accounting.cluster",
            ),
        ),
        migrations.AddField(
            model_name="unitpriceevent",
            name="cluster",
            field=models.ForeignKey(
                blank=True,
                db_constraint=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                related_query_name="+",
                to="accounting.cluster",
            ),
        ),
        migrations.AddField(
            model_name="unitpriceevent",
            name="pgh_context",
            field=models.ForeignKey(
                db_constraint=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="pghistory.context",
            ),
        ),
        migrations.AddField(
            model_name="unitpriceevent",
            name="pgh_obj",
            field=models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="events",
                to="accounting.unitprice",
            ),
        ),
        migrations.AddField(
            model_name="workload",
            name="cluster",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, to="accounting.cluster"
            ),
        ),
        migrations.AddField(
            model_name="workload",
            name="namespace",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, to="accounting.namespace"
            ),
        ),
        migrations.AddField(
            model_name="pod",
            name="workload",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="pods",
                to="accounting.workload",
            ),
        ),
        migrations.AddConstraint(
            model_name="dataissue",
            constraint=models.UniqueConstraint(
                fields=("cluster", "code", "subject"),
                name="data_issue_unique",
                nulls_distinct=False,
            ),
        ),
        migrations.AddConstraint(
            model_name="dirtyhour",
            constraint=models.UniqueConstraint(
                fields=("cluster", "hour_start"), name="dirty_hour_unique"
            ),
        ),
        migrations.AddConstraint(
            model_name="gpu",
            constraint=models.UniqueConstraint(
                fields=("cluster", "uuid"), name="gpu_unique"
            ),
        ),
        migrations.AddField(
            model_name="gpulabelhour",
            name="node",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, to="accounting.node"
            ),
        ),
        migrations.AddField(
            model_name="gpulabelhour",
            name="scraper",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, to="accounting.scraper"
            ),
        ),
        migrations.AddConstraint(
            model_name="gpulabelhour",
            constraint=models.UniqueConstraint(
                fields=(
                    "gpu",
                    "node",
                    "scraper",
                    "hour_start",
                    "instance",
                    "vgpu",
                    "namespace",
                    "pod",
                    "pod_uid",
                    "is_plain",
                ),
                name="gpu_label_hour_unique",
            ),
        ),
        migrations.AddIndex(
            model_name="ingestwindow",
            index=models.Index(
                fields=["state", "next_attempt_at"], name="ingest_window_by_state"
            ),
        ),
        migrations.AddConstraint(
            model_name="ingestwindow",
            constraint=models.UniqueConstraint(
                fields=("cluster", "shard", "window_start"), name="ingest_window_unique"
            ),
        ),
        migrations.AddConstraint(
            model_name="namespace",
            constraint=models.UniqueConstraint(
                fields=("cluster", "name"), name="namespace_unique"
            ),
        ),
        migrations.AddConstraint(
            model_name="namespacelabels",
            constraint=models.UniqueConstraint(
                fields=("namespace", "valid_from"), name="namespace_labels_unique"
            ),
        ),
        migrations.AddConstraint(
            model_name="node",
            constraint=models.UniqueConstraint(
                fields=("cluster", "name"), name="node_unique"
            ),
        ),
        migrations.AddField(
            model_name="gpuspan",
            name="scraper",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, to="accounting.scraper"
            ),
        ),
        migrations.AddConstraint(
            model_name="gpuspan",
            constraint=models.UniqueConstraint(
                fields=("gpu", "node", "scraper", "first_ms"), name="gpu_span_unique"
            ),
        ),
        migrations.AddConstraint(
            model_name="gpupresence",
            constraint=models.UniqueConstraint(
                fields=("gpu", "start_ms"), name="gpu_presence_unique"
            ),
        ),
        migrations.AddConstraint(
            model_name="gpupresence",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("end_ms__isnull", True),
                    ("end_ms__gte", models.F("start_ms")),
                    _connector="OR",
                ),
                name="gpu_presence_start_before_end",
            ),
        ),
        migrations.AddConstraint(
            model_name="nodefact",
            constraint=models.UniqueConstraint(
                fields=("node", "valid_from"), name="node_fact_unique"
            ),
        ),
        migrations.AddConstraint(
            model_name="nodespan",
            constraint=models.UniqueConstraint(
                fields=("node", "first_ms"), name="node_span_unique"
            ),
        ),
        migrations.AddConstraint(
            model_name="owner",
            constraint=models.UniqueConstraint(
                fields=("namespace", "kind", "name"), name="owner_unique"
            ),
        ),
        migrations.AddConstraint(
            model_name="ownpod",
            constraint=models.UniqueConstraint(
                fields=("cluster", "namespace", "pod"), name="own_pod_unique"
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="person",
            trigger=pgtrigger.compiler.Trigger(
                name="insert_insert",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='INSERT INTO "accounting_personevent" ("density", "id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "role", "theme", "timezone", "user_id") VALUES (NEW."density", NEW."id", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."role", NEW."theme", NEW."timezone", NEW."user_id"); RETURN NULL;',
                    hash="f61aa96a4acebd36f133be1a688bad2bd22c1035",
                    operation="INSERT",
                    pgid="pgtrigger_insert_insert_d7fe3",
                    table="accounting_person",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="person",
            trigger=pgtrigger.compiler.Trigger(
                name="update_update",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    condition="WHEN (OLD.* IS DISTINCT FROM NEW.*)",
                    func='INSERT INTO "accounting_personevent" ("density", "id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "role", "theme", "timezone", "user_id") VALUES (NEW."density", NEW."id", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."role", NEW."theme", NEW."timezone", NEW."user_id"); RETURN NULL;',
                    hash="b8df49084f2027d888595071419c1da35113221e",
                    operation="UPDATE",
                    pgid="pgtrigger_update_update_fdb5d",
                    table="accounting_person",
                    when="AFTER",
                ),
            ),
        ),
        migrations.AddIndex(
            model_name="podhold",
            index=models.Index(fields=["bound_ms", "ended_ms"], name="hold_by_time"),
        ),
        migrations.AddConstraint(
            model_name="podhold",
            constraint=models.UniqueConstraint(
                fields=("pod", "resource"),
                condition=models.Q(("is_inferred", False)),
                name="hold_unique",
            ),
        ),
        migrations.AddConstraint(
            model_name="podhold",
            constraint=models.UniqueConstraint(
                fields=("pod", "node", "bound_ms"),
                condition=models.Q(("is_inferred", True)),
                name="inferred_hold_unique",
            ),
        ),
        migrations.AddConstraint(
            model_name="podhold",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("ended_ms__isnull", True),
                    ("ended_ms__gte", models.F("bound_ms")),
                    _connector="OR",
                ),
                name="hold_start_before_end",
            ),
        ),
        migrations.AddConstraint(
            model_name="scraper",
            constraint=models.UniqueConstraint(
                fields=("cluster", "job", "instance", "replica"), name="scraper_unique"
            ),
        ),
        migrations.AddConstraint(
            model_name="scrapehour",
            constraint=models.UniqueConstraint(
                fields=("scraper", "hour_start"), name="scrape_hour_unique"
            ),
        ),
        migrations.AddConstraint(
            model_name="source",
            constraint=models.UniqueConstraint(
                fields=("cluster", "name"), name="source_unique"
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="source",
            trigger=pgtrigger.compiler.Trigger(
                name="insert_insert",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='INSERT INTO "accounting_sourceevent" ("cluster_id", "id", "interval_s", "is_active", "kind", "last_error", "last_read_at", "last_sample_at", "name", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "scales", "settings") VALUES (NEW."cluster_id", NEW."id", NEW."interval_s", NEW."is_active", NEW."kind", NEW."last_error", NEW."last_read_at", NEW."last_sample_at", NEW."name", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."scales", NEW."settings"); RETURN NULL;',
                    hash="652099642ab27cbc39636aac3296b58ecb8b20dc",
                    operation="INSERT",
                    pgid="pgtrigger_insert_insert_3335d",
                    table="accounting_source",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="source",
            trigger=pgtrigger.compiler.Trigger(
                name="update_update",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    condition="WHEN (OLD.* IS DISTINCT FROM NEW.*)",
                    func='INSERT INTO "accounting_sourceevent" ("cluster_id", "id", "interval_s", "is_active", "kind", "last_error", "last_read_at", "last_sample_at", "name", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "scales", "settings") VALUES (NEW."cluster_id", NEW."id", NEW."interval_s", NEW."is_active", NEW."kind", NEW."last_error", NEW."last_read_at", NEW."last_sample_at", NEW."name", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."scales", NEW."settings"); RETURN NULL;',
                    hash="e76d28cf9b4c7f8cb6650d075e8068f64361bb86",
                    operation="UPDATE",
                    pgid="pgtrigger_update_update_e9cf0",
                    table="accounting_source",
                    when="AFTER",
                ),
            ),
        ),
        migrations.AddConstraint(
            model_name="bufferseries",
            constraint=models.UniqueConstraint(
                fields=("source", "digest"), name="buffer_series_unique"
            ),
        ),
        migrations.AddConstraint(
            model_name="bufferblock",
            constraint=models.UniqueConstraint(
                fields=("source", "hour_start", "content_hash"),
                name="buffer_block_unique",
            ),
        ),
        migrations.AddConstraint(
            model_name="podattribution",
            constraint=models.UniqueConstraint(
                fields=("pod", "valid_from"), name="pod_attribution_unique"
            ),
        ),
        migrations.AddConstraint(
            model_name="membership",
            constraint=models.UniqueConstraint(
                fields=("user", "team"), name="membership_unique"
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="membership",
            trigger=pgtrigger.compiler.Trigger(
                name="insert_insert",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='INSERT INTO "accounting_membershipevent" ("id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "role", "team_id", "user_id") VALUES (NEW."id", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."role", NEW."team_id", NEW."user_id"); RETURN NULL;',
                    hash="52d602ee318c994f52ca1560e851f35da42ac408",
                    operation="INSERT",
                    pgid="pgtrigger_insert_insert_3f95f",
                    table="accounting_membership",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="membership",
            trigger=pgtrigger.compiler.Trigger(
                name="update_update",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    condition="WHEN (OLD.* IS DISTINCT FROM NEW.*)",
                    func='INSERT INTO "accounting_membershipevent" ("id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "role", "team_id", "user_id") VALUES (NEW."id", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."role", NEW."team_id", NEW."user_id"); RETURN NULL;',
                    hash="b07e630ba73dafb541595535ed74d1c375f28f1f",
                    operation="UPDATE",
                    pgid="pgtrigger_update_update_e880d",
                    table="accounting_membership",
                    when="AFTER",
                ),
            ),
        ),
        migrations.AddConstraint(
            model_name="binding",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("valid_to__isnull", True),
                    ("valid_to__gt", models.F("valid_from")),
                    _connector="OR",
                ),
                name="binding_start_before_end",
            ),
        ),
        migrations.AddConstraint(
            model_name="binding",
            constraint=django.contrib.postgres.constraints.ExclusionConstraint(
                expressions=[
                    ("kind", "="),
                    ("label", "="),
                    ("glob", "="),
                    (
                        accounting.models.organisation.TsTzRange(
                            "valid_from", "valid_to"
                        ),
                        "&&",
                    ),
                ],
                name="binding_no_overlap",
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="binding",
            trigger=pgtrigger.compiler.Trigger(
                name="insert_insert",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='INSERT INTO "accounting_bindingevent" ("glob", "id", "kind", "label", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "position", "team_id", "valid_from", "valid_to") VALUES (NEW."glob", NEW."id", NEW."kind", NEW."label", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."position", NEW."team_id", NEW."valid_from", NEW."valid_to"); RETURN NULL;',
                    hash="517a0f6cb0535641dfccde19e6b7e72495f711cc",
                    operation="INSERT",
                    pgid="pgtrigger_insert_insert_d2a76",
                    table="accounting_binding",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="binding",
            trigger=pgtrigger.compiler.Trigger(
                name="update_update",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    condition="WHEN (OLD.* IS DISTINCT FROM NEW.*)",
                    func='INSERT INTO "accounting_bindingevent" ("glob", "id", "kind", "label", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "position", "team_id", "valid_from", "valid_to") VALUES (NEW."glob", NEW."id", NEW."kind", NEW."label", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."position", NEW."team_id", NEW."valid_from", NEW."valid_to"); RETURN NULL;',
                    hash="c535e3cf7628f0047ef356e8b15738c4d26d0c9a",
                    operation="UPDATE",
                    pgid="pgtrigger_update_update_40809",
                    table="accounting_binding",
                    when="AFTER",
                ),
            ),
        ),
        migrations.AddConstraint(
            model_name="unitprice",
            constraint=models.CheckConstraint(
                condition=models.Q(("rate_per_gpu_hour__gte", 0)),
                name="price_rate_not_negative",
            ),
        ),
        migrations.AddConstraint(
            model_name="unitprice",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("cost_per_gpu_hour__isnull", True),
                    ("cost_per_gpu_hour__gte", 0),
                    _connector="OR",
                ),
                name="price_cost_not_negative",
            ),
        ),
        migrations.AddConstraint(
            model_name="unitprice",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("valid_to__isnull", True),
                    ("valid_to__gt", models.F("valid_from")),
                    _connector="OR",
                ),
                name="price_start_before_end",
            ),
        ),
        migrations.AddConstraint(
            model_name="unitprice",
            constraint=django.contrib.postgres.constraints.ExclusionConstraint(
                expressions=[
                    ("model", "="),
                    ("profile", "="),
                    ("lifecycle", "="),
                    ("tier", "="),
                    (
                        django.db.models.functions.comparison.Coalesce("cluster_id", 0),
                        "=",
                    ),
                    (
                        accounting.models.organisation.TsTzRange(
                            "valid_from", "valid_to"
                        ),
                        "&&",
                    ),
                ],
                name="price_no_overlap",
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="unitprice",
            trigger=pgtrigger.compiler.Trigger(
                name="insert_insert",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='INSERT INTO "accounting_unitpriceevent" ("cluster_id", "cost_per_gpu_hour", "currency", "id", "lifecycle", "model", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "profile", "rate_per_gpu_hour", "source_note", "tier", "valid_from", "valid_to") VALUES (NEW."cluster_id", NEW."cost_per_gpu_hour", NEW."currency", NEW."id", NEW."lifecycle", NEW."model", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."profile", NEW."rate_per_gpu_hour", NEW."source_note", NEW."tier", NEW."valid_from", NEW."valid_to"); RETURN NULL;',
                    hash="f686763fa21ab3a2551003dd37ff0a03be2ee213",
                    operation="INSERT",
                    pgid="pgtrigger_insert_insert_a666c",
                    table="accounting_unitprice",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="unitprice",
            trigger=pgtrigger.compiler.Trigger(
                name="update_update",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    condition="WHEN (OLD.* IS DISTINCT FROM NEW.*)",
                    func='INSERT INTO "accounting_unitpriceevent" ("cluster_id", "cost_per_gpu_hour", "currency", "id", "lifecycle", "model", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "profile", "rate_per_gpu_hour", "source_note", "tier", "valid_from", "valid_to") VALUES (NEW."cluster_id", NEW."cost_per_gpu_hour", NEW."currency", NEW."id", NEW."lifecycle", NEW."model", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."profile", NEW."rate_per_gpu_hour", NEW."source_note", NEW."tier", NEW."valid_from", NEW."valid_to"); RETURN NULL;',
                    hash="27c5e9fb070a742258a822f41006e426d7243715",
                    operation="UPDATE",
                    pgid="pgtrigger_update_update_b7982",
                    table="accounting_unitprice",
                    when="AFTER",
                ),
            ),
        ),
        migrations.AddConstraint(
            model_name="workload",
            constraint=models.UniqueConstraint(
                fields=("cluster", "namespace", "kind", "name"), name="workload_unique"
            ),
        ),
        migrations.AddIndex(
            model_name="pod",
            index=models.Index(
                fields=["cluster", "last_ms"], name="pod_by_last_sample"
            ),
        ),
        migrations.AddConstraint(
            model_name="pod",
            constraint=models.UniqueConstraint(
                fields=("cluster", "uid"), name="pod_unique"
            ),
        ),
    ]
