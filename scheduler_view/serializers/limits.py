"""Rows of everything that limits GPUs."""

from rest_framework import serializers

from accounting.serializers.row import IsoField, RowSerializer, TextOrNullField
from scheduler_view.domain.drift_state import DriftState
from scheduler_view.queries.limits.limit_row import LimitGroup


class LimitRowSerializer(RowSerializer):
    """One number that limits GPUs, or one priority class."""

    cluster = serializers.CharField()
    group = serializers.ChoiceField(choices=[one.value for one in LimitGroup])
    kind = serializers.CharField(help_text="of the object, as in plans")
    namespace = TextOrNullField(help_text="null for objects of the whole cluster")
    name = serializers.CharField()
    team = TextOrNullField(help_text="of the namespace")
    resource = TextOrNullField(help_text="null for GPUs of any kind and priorities")
    part = TextOrNullField(help_text="flavor, or the pods that it counts")
    limit = TextOrNullField(help_text="units, `unlimited`, or a priority")
    used = TextOrNullField(help_text="as its controller reports; null if not reported")
    borrowed = TextOrNullField(help_text="units above its quota")
    lent = TextOrNullField(
        help_text="units of its quota in use by others: `4`, `2 to 4`"
    )
    may_borrow = TextOrNullField(help_text="null if it has no such limit")
    may_lend = TextOrNullField(help_text="null if it has no such limit")
    waiting = serializers.IntegerField(
        allow_null=True, help_text="workloads that are not let in"
    )
    above = TextOrNullField(
        source="parent", help_text="the queue or cohort that it belongs to"
    )
    preempts = serializers.BooleanField(
        allow_null=True, help_text="of a priority class; null for other kinds"
    )
    is_default = serializers.BooleanField(help_text="class of pods that name none")
    set_by = TextOrNullField(help_text="who set the limit; null if not known")
    set_at = IsoField(allow_null=True)
    change = serializers.IntegerField(help_text="change set that set it; 0 if none did")
    sync = serializers.ChoiceField(
        source="state",
        choices=[*(one.value for one in DriftState), "not_compared"],
        help_text="compared with the desired state at the last observation",
    )
    text = TextOrNullField(help_text="what differs, and who holds what waits")
    adopts = serializers.BooleanField(help_text="GPU Ledger can take it over")
    why_not = TextOrNullField(help_text="why it cannot be taken over")
    seen_at = IsoField(allow_null=True)
