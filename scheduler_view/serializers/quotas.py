"""Rows of quotas, tiers and values of queues."""

from rest_framework import serializers

from accounting.serializers.row import (
    IsoField,
    RowSerializer,
    TextOrNullField,
)


class QuotaRowSerializer(RowSerializer):
    """One quota of a team for a resource."""

    cluster = serializers.CharField()
    team = serializers.CharField()
    resource = serializers.CharField()
    key = serializers.CharField(help_text="key in `spec.hard` of the ResourceQuota")
    tier = serializers.CharField(allow_blank=True, help_text="empty for all pods")
    gpus = serializers.IntegerField()
    rule = serializers.CharField()
    split = serializers.DictField(child=serializers.IntegerField())
    in_use = serializers.IntegerField(help_text="units in use now")
    peak_30_days = serializers.IntegerField(source="peak")
    pending = serializers.IntegerField(help_text="units requested by pending pods")
    used = serializers.IntegerField(
        allow_null=True,
        help_text="units in use as reported by Kubernetes; null if not observed",
    )
    room = serializers.IntegerField(
        allow_null=True, help_text="units that the next pod can request"
    )
    borrowed = serializers.IntegerField(
        source="lent.borrowed",
        allow_null=True,
        help_text="units in use above the quota of its queues; null without queues",
    )
    queued = serializers.IntegerField(
        source="lent.queued",
        allow_null=True,
        help_text="units requested by workloads that wait in its queues",
    )
    queues = serializers.ListField(source="lent.queues", child=serializers.CharField())
    version = serializers.IntegerField(help_text="pass it with an edit")
    sync = serializers.ChoiceField(
        source="sync_state",
        choices=("in_sync", "differs", "other", "not_compared"),
        help_text="state of its objects in the cluster at the last observation",
    )
    live = serializers.DictField(
        child=serializers.IntegerField(allow_null=True),
        help_text="value of its key in the cluster, by namespace; null if missing",
    )
    seen_at = IsoField(allow_null=True)


class TierRowSerializer(RowSerializer):
    """One priority tier."""

    cluster = serializers.CharField()
    name = serializers.CharField()
    value = serializers.IntegerField()
    preempts = serializers.BooleanField()
    is_default = serializers.BooleanField()
    description = serializers.CharField(allow_blank=True)
    class_name = serializers.CharField(help_text="PriorityClass of new pods")
    old_classes = serializers.ListField(child=serializers.CharField())
    pods = serializers.DictField(child=serializers.IntegerField())
    quotas = serializers.IntegerField()
    version = serializers.IntegerField(help_text="pass it with an edit")


class QueueValueRowSerializer(RowSerializer):
    """One field of a queue, or of another object of a scheduler."""

    cluster = serializers.CharField()
    scheduler = serializers.CharField()
    object = serializers.CharField(source="kind", help_text="pass it with an edit")
    name = serializers.CharField(source="queue")
    field = serializers.CharField(help_text="pass it with an edit")
    value = TextOrNullField(help_text="as desired if managed, else as in the cluster")
    live = TextOrNullField(help_text="in the cluster; null if it is not set")
    used = TextOrNullField(help_text="as its scheduler reports; null if not reported")
    is_managed = serializers.BooleanField(help_text="set by a change set")
    version = serializers.IntegerField(help_text="pass it with an edit")
    sync = serializers.ChoiceField(
        source="sync_state",
        choices=("in_sync", "differs", "not_managed", "not_compared"),
        help_text="state of the object in the cluster at the last observation",
    )
