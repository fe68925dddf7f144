"""Rows of work that waits, of what holds its GPUs, and of preemptions."""

from rest_framework import serializers

from accounting.kit.serializers.declared import serializer_of
from accounting.kit.serializers.row import (
    RowSerializer,
    SecondsField,
)
from scheduler_view.waits.reads.waiting_units import HolderRow
from scheduler_view.waits.rules.cause import (
    PreemptionOutcome,
    Stage,
    WaitCause,
)


class ReportSerializer(RowSerializer):
    """The words of one object or event."""

    about = serializers.CharField(
        allow_blank=True, help_text="such as `Pod/lab/train-0`"
    )
    text = serializers.CharField()
    at = SecondsField(allow_null=True)


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
    details = serializers.ListField(
        child=serializers.CharField(),
        help_text="names and numbers that belong to the cause, as sentences",
    )
    cause_since = SecondsField(
        help_text="when it was first observed to wait for this cause"
    )
    contributing = serializers.ListField(
        child=serializers.CharField(), help_text="other causes, on other nodes or pods"
    )
    overlays = serializers.ListField(child=serializers.CharField())
    preemption = serializers.ChoiceField(
        choices=[one.value for one in PreemptionOutcome]
    )
    holders = serializers.ListField(
        child=serializer_of(HolderRow)(many=True),
        help_text="sets of pods; if all pods of one set end, a waiting pod fits",
    )
    starts_if = serializers.ListField(
        child=serializers.DictField(),
        help_text="changes of which each is enough, as tried on the observed objects",
    )
    not_enough = serializers.ListField(
        child=serializers.DictField(),
        help_text="changes that are not enough alone, with what `remains` after each",
    )
    message = serializers.CharField(
        allow_blank=True, help_text="message of the scheduler or the API server"
    )
    reports = ReportSerializer(
        many=True,
        help_text="all words that support the cause; `message` is the first",
    )
    seen_at = SecondsField(allow_null=True)
    from_metrics = serializers.BooleanField(
        source="is_from_metrics",
        help_text="explained from kube-state-metrics alone: `holders`, `starts_if` and "
        "`preemption` are not known, and `other` is any cause that metrics do not show",
    )
    lower_holders = serializer_of(HolderRow)(
        many=True,
        source="lower",
        help_text="pods of lower priority that alone hold enough (`priority_inversion`)",
    )
