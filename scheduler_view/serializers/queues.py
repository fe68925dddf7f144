"""The API's rows of queues: units that wait, pools, wait times."""

from rest_framework import serializers

from accounting.serializers.row import NumberField, RowSerializer, SecondsField
from scheduler_view.domain.queues.like_waits import StartWord
from scheduler_view.domain.waits.cause import Stage, WaitCause


class QueuedUnitRowSerializer(RowSerializer):
    """One unit of work that waits, with its position and estimated start."""

    number = serializers.IntegerField(help_text="of its page")
    cluster = serializers.CharField()
    team = serializers.CharField(help_text="`unmapped` for usage without a team")
    namespace = serializers.CharField(allow_blank=True)
    kind = serializers.CharField()
    name = serializers.CharField()
    tier = serializers.CharField(allow_blank=True, help_text="priority class")
    resource = serializers.CharField(allow_blank=True)
    model = serializers.CharField(
        allow_blank=True, help_text="of its pool; empty if no node shows one"
    )
    units = serializers.IntegerField(help_text="requested by all its waiting pods")
    stage = serializers.ChoiceField(choices=[one.value for one in Stage])
    cause = serializers.ChoiceField(choices=[one.value for one in WaitCause])
    created = SecondsField(source="created_at", allow_null=True)
    admitted = SecondsField(source="admitted_at", allow_null=True)
    position = serializers.IntegerField(
        allow_null=True, help_text="estimated rank in its pool, from 1"
    )
    of = serializers.IntegerField(
        source="count", allow_null=True, help_text="units that wait in this pool"
    )
    start = serializers.ChoiceField(
        source="start_word",
        choices=["", *(one.value for one in StartWord)],
        help_text="within which time it probably starts, or why that is not said: "
        "`few` (too few such waits), `long` (over a day), `endless` (holders have no end); "
        "empty: not before something is changed",
    )
    start_waits = serializers.IntegerField(
        source="start_like", help_text="waits like it that lasted as long"
    )
    start_waits_kept = serializers.IntegerField(
        source="start_kept", help_text="of them: started within this time"
    )
    estimated_start = SecondsField(
        source="start_at",
        allow_null=True,
        help_text="null before the error of its pool is measured, and beyond a day",
    )
    earliest_start = SecondsField(source="low_at", allow_null=True)
    latest_start = SecondsField(source="high_at", allow_null=True)
    from_metrics = serializers.BooleanField(
        source="is_from_metrics",
        help_text="from kube-state-metrics alone: without position and estimated start",
    )


class PoolRowSerializer(RowSerializer):
    """One pool as last observed, in units of its resource."""

    cluster = serializers.CharField()
    resource = serializers.CharField()
    model = serializers.CharField(
        allow_blank=True, help_text="empty if no node shows one"
    )
    depth = serializers.IntegerField(help_text="all that waiting work requests")
    waiting = serializers.IntegerField(help_text="of it: the scheduler found no node")
    refused = serializers.IntegerField(help_text="of it: pods that were not let in")
    held_back = serializers.IntegerField(help_text="of it: suspended, queued or gated")
    work = serializers.IntegerField(help_text="units of work that wait")
    capacity = serializers.IntegerField()
    available = serializers.IntegerField(
        allow_null=True, help_text="free on ready nodes; null if not known"
    )
    fitting = serializers.IntegerField(
        help_text="of the depth, what could be bound at once"
    )
    fitting_held = serializers.IntegerField(
        help_text="the same of what is refused or held back alone"
    )
    estimates = serializers.IntegerField(
        help_text="of starts in the last 28 days; 0 if fewer than 20"
    )
    estimate_error_ms = serializers.IntegerField(
        source="error_ms", allow_null=True, help_text="median; null if not measured yet"
    )
    estimate_range_held = NumberField(
        source="held", allow_null=True, help_text="share of starts in their range"
    )
    seen_at = SecondsField()


class WaitTimeRowSerializer(RowSerializer):
    """Waits of one tier over the last 28 days, of all teams."""

    cluster = serializers.CharField()
    tier = serializers.CharField(allow_blank=True, help_text="priority class")
    units = serializers.IntegerField(help_text="units of work that were bound")
    wait_p50_ms = serializers.IntegerField(source="p50_ms")
    wait_p95_ms = serializers.IntegerField(source="p95_ms")
    admission_p50_ms = serializers.IntegerField(allow_null=True)
    scheduling_p50_ms = serializers.IntegerField(allow_null=True)
    startup_p50_ms = serializers.IntegerField(allow_null=True)
