"""The API's rows of quotas, tiers and change sets, and request bodies."""

from typing import Any

from rest_framework import serializers

from accounting.models import Cluster
from accounting.serializers.directory import InstantField
from accounting.serializers.row import (
    GpuHoursField,
    IsoField,
    Members,
    MomentField,
    MoneyField,
    RowSerializer,
    SecondsField,
    TextOrNullField,
)
from scheduler_view.actions.change_sets import LONGEST_REASON, SHORTEST_REASON
from scheduler_view.domain.waits.cause import PreemptionOutcome, Stage, WaitCause
from scheduler_view.domain.waste.finding import WasteRule
from scheduler_view.domain.waste.recommend import Confidence, Effort

_Base = serializers.Serializer[Any]


class _AnyObject(serializers.JSONField):
    """A mapping whose members are the object's own."""


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


class HolderRowSerializer(RowSerializer):
    """One pod that holds what waiting work needs."""

    team = serializers.CharField(help_text="`unmapped` for usage without a team")
    pod = serializers.CharField(
        allow_blank=True, help_text="empty for teams that you may not read"
    )
    unit = serializers.CharField(
        allow_blank=True, help_text="its work, as Kind/namespace/name"
    )
    resource = serializers.CharField(allow_blank=True)
    units = serializers.IntegerField()
    priority_class = serializers.CharField(allow_blank=True)
    is_own = serializers.BooleanField(help_text="a replica of the waiting work")
    since = SecondsField(allow_null=True)
    idle_since = SecondsField(
        allow_null=True, help_text="null if they are in use, or that is not known"
    )
    cost_per_hour = MoneyField(
        allow_null=True,
        help_text="of its GPUs; null without a price, and for teams that you may not read",
    )
    currency = TextOrNullField(help_text="of `cost_per_hour`")


class WaitingUnitRowSerializer(RowSerializer):
    """One work unit that waits, as last explained."""

    cluster = serializers.CharField()
    team = serializers.CharField(help_text="`unmapped` for usage without a team")
    namespace = serializers.CharField()
    kind = serializers.CharField(help_text="Job, Deployment, PodGroup, Pod, ...")
    name = serializers.CharField()
    requested = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="units of one pod by resource",
    )
    pods_wanted = serializers.IntegerField()
    pods_bound = serializers.IntegerField(help_text="pods on a node")
    pods_waiting = serializers.IntegerField(
        help_text="those that were not made included"
    )
    priority_class = serializers.CharField(allow_blank=True)
    since = SecondsField(allow_null=True)
    stage = serializers.ChoiceField(choices=[one.value for one in Stage])
    cause = serializers.ChoiceField(choices=[one.value for one in WaitCause])
    cause_since = SecondsField()
    contributing = serializers.ListField(
        child=serializers.CharField(), help_text="other causes, on other nodes or pods"
    )
    overlays = serializers.ListField(child=serializers.CharField())
    preemption = serializers.ChoiceField(
        choices=[one.value for one in PreemptionOutcome]
    )
    holders = serializers.ListField(
        child=HolderRowSerializer(many=True),
        help_text="sets of pods; if all pods of one set end, a waiting pod fits",
    )
    starts_if = serializers.ListField(
        child=serializers.DictField(), help_text="changes of which each is enough"
    )
    message = serializers.CharField(
        allow_blank=True, help_text="message of the scheduler or the API server"
    )
    seen_at = SecondsField(allow_null=True)
    from_metrics = serializers.BooleanField(
        source="is_from_metrics",
        help_text="explained from kube-state-metrics alone: `holders`, `starts_if` and "
        "`preemption` are not known, and `other` is any cause that metrics do not show",
    )


class PreemptionRowSerializer(RowSerializer):
    """One pod that the scheduler preempted for another."""

    cluster = serializers.CharField()
    team = serializers.CharField(help_text="`unmapped` for usage without a team")
    namespace = serializers.CharField()
    pod = serializers.CharField()
    at = SecondsField()
    message = serializers.CharField(allow_blank=True)


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


class ChangeRowSerializer(RowSerializer):
    """One change set in a list."""

    id = serializers.IntegerField()
    title = serializers.CharField(
        source="name", help_text="summary: `Vision: 24 → 30 GPUs`"
    )
    cluster = serializers.CharField()
    state = serializers.CharField()
    version = serializers.IntegerField(help_text="the ETag; pass it as If-Match")
    author = serializers.CharField()
    reason = serializers.CharField()
    summary = serializers.CharField(allow_blank=True)
    error = serializers.CharField(allow_blank=True)
    is_planning = serializers.BooleanField()
    needs_second = serializers.BooleanField()
    approved_by = serializers.CharField(allow_blank=True)
    made_at = SecondsField()
    planned_at = SecondsField(allow_null=True)
    plan_expires_at = SecondsField(allow_null=True)
    approved_at = SecondsField(allow_null=True)
    starts_at = SecondsField(allow_null=True)
    ends_at = SecondsField(allow_null=True)
    applied_at = SecondsField(allow_null=True)
    retry_at = SecondsField(allow_null=True)
    ended_by = serializers.CharField(
        allow_blank=True, help_text="person who declined or discarded it"
    )
    ended_at = SecondsField(allow_null=True)
    ended_reason = serializers.CharField(allow_blank=True)
    undoes = serializers.IntegerField(allow_null=True)
    undone_by = serializers.IntegerField(allow_null=True)
    steps_applied = serializers.IntegerField()
    steps_unchanged = serializers.IntegerField()
    steps_refused = serializers.IntegerField()
    steps_open = serializers.IntegerField()
    is_partial = serializers.BooleanField(
        help_text="true if the change affects other teams: only the lines of your teams are "
        "shown, without the reason"
    )


class FieldChangeSerializer(RowSerializer):
    """One field of an object."""

    field = serializers.CharField()
    before = serializers.CharField(allow_null=True)
    after = serializers.CharField(allow_null=True)

    def to_representation(self, instance: Any) -> Members:
        """A triple, as plans store it."""
        return dict(zip(self.fields, instance, strict=True))


class StepSerializer(RowSerializer):
    """One object of a plan, and its result."""

    object = serializers.CharField(
        source="title", help_text="pass it in `force` to take over the object"
    )
    kind = serializers.CharField()
    namespace = serializers.CharField(allow_blank=True)
    name = serializers.CharField()
    action = serializers.CharField()
    changes = FieldChangeSerializer(many=True)
    others = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField())
    )
    blocked = serializers.CharField(allow_blank=True)
    note = serializers.CharField(allow_blank=True)
    force = serializers.BooleanField()
    state = serializers.CharField()
    code = serializers.IntegerField(allow_null=True)
    message = serializers.CharField(
        allow_blank=True, help_text="message of the API server"
    )
    done_at = SecondsField(allow_null=True)
    body = _AnyObject(allow_null=True)


class _StoredSerializer(RowSerializer):
    """A value that a plan stores in its output form."""

    def to_representation(self, instance: Any) -> Members:
        """Unchanged."""
        return dict(instance)


class EffectSerializer(_StoredSerializer):
    """One sentence about an effect of the change."""

    code = serializers.CharField()
    text = serializers.CharField()
    team = serializers.CharField(allow_blank=True)
    resource = serializers.CharField(allow_blank=True)


class WarningSerializer(_StoredSerializer):
    """One warning; `about` names the object."""

    code = serializers.CharField()
    text = serializers.CharField()
    about = serializers.CharField(allow_blank=True)
    namespace = serializers.CharField(allow_blank=True, required=False)


class ChangeSerializer(ChangeRowSerializer):
    """One change set with its plan."""

    edits = serializers.ListField(child=_AnyObject())
    effects = EffectSerializer(many=True)
    warnings = WarningSerializer(many=True)
    steps = StepSerializer(many=True)


class ChangeBodySerializer(_Base):
    """A change set to create, or the new content of a draft.

    An edit is `{kind: quota, team, resource, gpus, tier, rule, weights, version}`, `gpus` null to
    remove the quota; or `{kind: tier, name, value, preempts, is_default, description, in_place,
    remove, version}`; or `{kind: queue, object, name, field, value, release, version}`, `value`
    null for a field that must not be set. `version` is of the quota, tier or field that was read; 0
    if there was none; without it, it is not checked.
    """

    edits = serializers.ListField(child=_AnyObject(), allow_empty=False)
    reason = serializers.CharField(
        min_length=SHORTEST_REASON, max_length=LONGEST_REASON
    )
    force = serializers.ListField(
        child=serializers.CharField(max_length=400), required=False, max_length=500
    )
    starts_at = InstantField(required=False, allow_null=True)
    ends_at = InstantField(required=False, allow_null=True)


class JoinBodySerializer(_Base):
    """Edits to add to an open change set, as in `ChangeBody`."""

    edits = serializers.ListField(child=_AnyObject(), allow_empty=False)
    reason = serializers.CharField(
        min_length=SHORTEST_REASON,
        max_length=LONGEST_REASON,
        required=False,
        help_text="replaces the change set's own",
    )


class NewChangeBodySerializer(ChangeBodySerializer):
    """A change set to create."""

    cluster = serializers.SlugRelatedField(
        slug_field="name", queryset=Cluster.objects.all()
    )


class ReasonBodySerializer(_Base):
    """The reason of an undo or an end."""

    reason = serializers.CharField(
        min_length=SHORTEST_REASON, max_length=LONGEST_REASON
    )


class NoBodySerializer(_Base):
    """Only the address and If-Match."""


class WasteRowSerializer(RowSerializer):
    """The findings of one rule about one work unit or node, on the chosen days."""

    rule = serializers.ChoiceField(choices=[rule.value for rule in WasteRule])
    number = serializers.CharField(help_text="of the rule in docs/scheduling.md")
    is_at_risk = serializers.BooleanField(help_text="no saving is claimed")
    is_in_totals = serializers.BooleanField(
        help_text="false if its time may be in other rows as well, or no saving is claimed"
    )
    cluster = serializers.CharField()
    team = TextOrNullField(help_text="null for free time of a node")
    namespace = TextOrNullField()
    workload_kind = TextOrNullField(source="kind")
    workload = TextOrNullField()
    node = TextOrNullField(help_text="null for held time and free time of a pool")
    pool = TextOrNullField(help_text="resource and model, for free time of a pool")
    findings = serializers.IntegerField()
    pods = serializers.IntegerField()
    first_from = MomentField(
        source="start",
        help_text="begin of the first finding, which may be before `from`",
    )
    last_to = MomentField(source="end", help_text="end of the last finding")
    gpu_ms = serializers.IntegerField(help_text="share-weighted milliseconds")
    gpu_hours = GpuHoursField(source="gpu_ms")
    amount = MoneyField(allow_null=True, help_text="null without a price")
    amount_low = MoneyField(
        allow_null=True,
        help_text="the least that it may come to; `amount` is the most",
    )
    amount_per_day = MoneyField(
        allow_null=True, help_text="the amount divided by `measured_days`"
    )
    currency = TextOrNullField()
    unpriced_gpu_hours = GpuHoursField(source="unpriced_ms")
    measured_days = serializers.IntegerField(
        source="days", help_text="days of the range whose findings are computed"
    )


class RecommendationRowSerializer(RowSerializer):
    """What a month could save at one work unit or node, and what was decided about it."""

    rule = serializers.CharField(source="row.rule")
    cluster = serializers.CharField(source="row.cluster")
    team = TextOrNullField(source="row.team", help_text="null for free time of a node")
    namespace = TextOrNullField(source="row.namespace")
    workload_kind = TextOrNullField(source="row.kind")
    workload = TextOrNullField(source="row.workload")
    node = TextOrNullField(source="row.node")
    advice = serializers.CharField()
    saving_low = MoneyField(
        source="low", allow_null=True, help_text="of a month; null without a price"
    )
    saving_high = MoneyField(source="high", allow_null=True)
    currency = TextOrNullField(source="row.currency")
    confidence = serializers.ChoiceField(choices=[one.value for one in Confidence])
    effort = serializers.ChoiceField(choices=[one.value for one in Effort])
    state = serializers.CharField(help_text="open, accepted, dismissed or done")
    owner = TextOrNullField()
    reason = TextOrNullField()
    decided_at = MomentField(allow_null=True)
    saved = MoneyField(
        allow_null=True,
        help_text="of a month, measured since the decision; null in its first week",
    )
    quota = serializers.IntegerField(allow_null=True)
    smaller_quota = serializers.IntegerField(source="smaller", allow_null=True)
