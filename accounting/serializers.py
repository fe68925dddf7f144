"""The API's rows and problems as the schema shows them, and the bodies it takes."""

from collections.abc import Sequence
from typing import Any

from rest_framework import serializers

from accounting.domain.inventory.kube_state_jobs import JobRole
from accounting.domain.units.mig_profiles import fault_of
from accounting.models import BindingKind, Cluster, Team
from accounting.queries.dimensions import (
    LEDGER_DIMENSIONS,
    LIFECYCLES,
    USAGE_DIMENSIONS,
    DimensionKey,
    KeyType,
    keys_of,
)
from accounting.queries.selection import SelectionError, parse_instant
from accounting.rating.billing_settings import billing_at
from accounting.sources.catalogue import normal_model

SET_LIFECYCLES = tuple(name for name in LIFECYCLES if name != "unknown")  # N26


_MONEY = "of the time that has a price; null where none has"
_UNPRICED = "the time without a price: no amount of the row includes it"


def _key_fields(by: Sequence[str]) -> dict[str, Any]:
    """The keys that dimensions give a row; those that were not asked for are not there."""
    return {key.name: _key_field(key) for key in keys_of(by)}


def _key_field(key: DimensionKey) -> serializers.Field[Any, Any, Any, Any]:
    if key.type is KeyType.DATE:
        return serializers.DateField(required=False)
    if key.type is KeyType.INSTANT:
        return serializers.DateTimeField(required=False)
    return serializers.CharField(required=False, allow_blank=key.can_be_empty)


class UsageRowSerializer(serializers.Serializer):  # type: ignore[type-arg]
    """One row of `usage`; the dimensions asked for come first, by name."""

    allocated_ms = serializers.IntegerField()
    busy_ms = serializers.IntegerField()
    idle_ms = serializers.IntegerField()
    unknown_ms = serializers.IntegerField()
    allocated_gpu_hours = serializers.CharField()
    busy_gpu_hours = serializers.CharField()
    idle_gpu_hours = serializers.CharField()
    unknown_gpu_hours = serializers.CharField()
    efficiency = serializers.FloatField(allow_null=True)
    coverage = serializers.FloatField(allow_null=True)
    charge = serializers.CharField(allow_null=True, help_text=_MONEY)
    idle_charge = serializers.CharField(allow_null=True, help_text=_MONEY)
    currency = serializers.CharField(allow_null=True)
    unpriced_gpu_hours = serializers.CharField(help_text=_UNPRICED)
    estimated = serializers.BooleanField()
    energy_joules = serializers.FloatField(allow_null=True)
    peak_memory_bytes = serializers.IntegerField(allow_null=True)
    sm_active = serializers.FloatField(allow_null=True)
    tensor_active = serializers.FloatField(allow_null=True)
    dram_active = serializers.FloatField(allow_null=True)

    def get_fields(self) -> dict[str, Any]:
        """Its measures after the keys of dimensions."""
        return {**_key_fields(USAGE_DIMENSIONS), **super().get_fields()}


_KEYS = frozenset(key.name for key in keys_of(USAGE_DIMENSIONS))
USAGE_MEASURES: tuple[str, ...] = tuple(
    name for name in map(str, UsageRowSerializer().fields) if name not in _KEYS
)


class LedgerRowSerializer(serializers.Serializer):  # type: ignore[type-arg]
    """One row of `ledger`; the dimensions asked for come first, by name."""

    busy_ms = serializers.IntegerField()
    idle_ms = serializers.IntegerField()
    unknown_ms = serializers.IntegerField()
    free_ms = serializers.IntegerField()
    stranded_ms = serializers.IntegerField()
    stray_ms = serializers.IntegerField()
    dark_ms = serializers.IntegerField()
    wall_ms = serializers.IntegerField()
    busy_charge = serializers.CharField(allow_null=True)
    idle_charge = serializers.CharField(allow_null=True)
    unknown_charge = serializers.CharField(allow_null=True)
    free_charge = serializers.CharField(allow_null=True)
    stranded_charge = serializers.CharField(allow_null=True)
    stray_charge = serializers.CharField(allow_null=True)
    dark_charge = serializers.CharField(allow_null=True)
    wall_charge = serializers.CharField(allow_null=True, help_text=_MONEY)
    currency = serializers.CharField(allow_null=True)
    unpriced_gpu_hours = serializers.CharField(help_text=_UNPRICED)

    def get_fields(self) -> dict[str, Any]:
        """Its measures after the keys of dimensions."""
        return {**_key_fields(LEDGER_DIMENSIONS), **super().get_fields()}


class HoldRowSerializer(serializers.Serializer):  # type: ignore[type-arg]
    """One row of `holds`."""

    cluster = serializers.CharField()
    namespace = serializers.CharField()
    pod = serializers.CharField()
    uid = serializers.CharField()
    node = serializers.CharField()
    resource = serializers.CharField()
    units = serializers.IntegerField()
    share = serializers.CharField()
    created = serializers.CharField(allow_null=True)
    bound = serializers.CharField()
    ended = serializers.CharField(allow_null=True)
    ended_by = serializers.CharField(allow_null=True)
    wait_ms = serializers.IntegerField(allow_null=True)
    admission_wait_ms = serializers.IntegerField(allow_null=True)


class GpuRowSerializer(serializers.Serializer):  # type: ignore[type-arg]  # generic in stubs only
    """One row of `gpus`: where it is now, and what it did and earned in the period."""

    cluster = serializers.CharField()
    node = serializers.CharField()
    gpu = serializers.CharField()
    model = serializers.CharField(allow_blank=True)
    driver = serializers.CharField(allow_null=True)
    is_present = serializers.BooleanField()
    first_seen = serializers.CharField()
    holders = serializers.ListField(
        child=serializers.CharField(), help_text="now: `namespace/pod`"
    )
    teams = serializers.ListField(child=serializers.CharField(), help_text="of them")
    errors = serializers.ListField(  # type: ignore[assignment]  # also a serializer's own name
        child=serializers.CharField(), help_text="shown in the period: `XID 79`, `ECC`"
    )
    wall_ms = serializers.IntegerField(allow_null=True)
    allocated_ms = serializers.IntegerField(allow_null=True)
    busy_ms = serializers.IntegerField(allow_null=True)
    idle_ms = serializers.IntegerField(allow_null=True)
    unknown_ms = serializers.IntegerField(allow_null=True)
    allocated_share = serializers.FloatField(allow_null=True)
    efficiency = serializers.FloatField(allow_null=True)
    charge = serializers.CharField(
        allow_null=True, help_text="charged to those who held it"
    )
    capacity_cost = serializers.CharField(
        allow_null=True, help_text="the full price of its time"
    )
    currency = serializers.CharField(allow_null=True)
    unpriced_gpu_hours = serializers.CharField(
        allow_null=True, help_text="its time without a price: no amount includes it"
    )


class GpuHolderSerializer(serializers.Serializer):  # type: ignore[type-arg]  # generic in stubs only
    """One row of `gpu-holders`: a pod had a GPU without a break, to the five minutes."""

    cluster = serializers.CharField()
    node = serializers.CharField()
    gpu = serializers.CharField()
    instance = serializers.IntegerField(
        allow_null=True, help_text="of a divided GPU; null for the whole"
    )
    team = serializers.CharField()
    namespace = serializers.CharField()
    pod = serializers.CharField()
    uid = serializers.CharField()
    start = serializers.CharField()
    end = serializers.CharField()
    allocated_ms = serializers.IntegerField()
    busy_ms = serializers.IntegerField()
    idle_ms = serializers.IntegerField()
    unknown_ms = serializers.IntegerField()
    efficiency = serializers.FloatField(allow_null=True)
    is_inferred = serializers.BooleanField()


class GpuStepSerializer(serializers.Serializer):  # type: ignore[type-arg]  # generic in stubs only
    """One row of `gpu-steps`: a GPU from `start` on; what was not measured is null."""

    gpu = serializers.CharField()
    start = serializers.CharField()
    length_ms = serializers.IntegerField()
    busy_ms = serializers.IntegerField()
    idle_ms = serializers.IntegerField()
    unknown_ms = serializers.IntegerField()
    free_ms = serializers.IntegerField()
    stranded_ms = serializers.IntegerField()
    stray_ms = serializers.IntegerField()
    dark_ms = serializers.IntegerField()
    efficiency = serializers.FloatField(allow_null=True)
    memory_bytes = serializers.FloatField(allow_null=True, help_text="mean")
    peak_memory_bytes = serializers.IntegerField(allow_null=True)
    power_watts = serializers.FloatField(allow_null=True, help_text="mean")
    energy_joules = serializers.FloatField(allow_null=True)
    peak_celsius = serializers.IntegerField(allow_null=True)
    sm_active = serializers.FloatField(allow_null=True)
    tensor_active = serializers.FloatField(allow_null=True)
    dram_active = serializers.FloatField(allow_null=True)
    throttled = serializers.FloatField(
        allow_null=True, help_text="share of the time with clocks held down"
    )


class TeamSerializer(serializers.Serializer):  # type: ignore[type-arg]
    """A team."""

    slug = serializers.CharField()
    name = serializers.CharField()
    department = serializers.CharField(allow_blank=True)
    cost_centre = serializers.CharField(allow_blank=True)
    leads = serializers.ListField(child=serializers.CharField())


class TeamBodySerializer(serializers.Serializer):  # type: ignore[type-arg]
    """A team to make, or to change: what is left out stays."""

    slug = serializers.SlugField(max_length=63)
    name = serializers.CharField(max_length=200)
    department = serializers.CharField(max_length=200, required=False, allow_blank=True)
    cost_centre = serializers.CharField(
        max_length=100, required=False, allow_blank=True
    )

    def validate_slug(self, slug: str) -> str:
        """`unmapped` names the line of usage without a team."""
        if slug == "unmapped":
            raise serializers.ValidationError(
                "'unmapped' is the line of usage without a team."
            )
        return slug


class InstantField(serializers.CharField):
    """ISO 8601 time with offset, or a billing day: its midnight."""

    def to_internal_value(self, data: Any) -> Any:
        """An aware instant; never a guess at a time zone."""
        try:
            return parse_instant(super().to_internal_value(data))
        except SelectionError as error:
            raise serializers.ValidationError(str(error)) from error


class BindingSerializer(serializers.Serializer):  # type: ignore[type-arg]
    """A rule that gives usage to a team."""

    id = serializers.IntegerField()
    position = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=BindingKind.choices)
    label = serializers.CharField(allow_blank=True)  # type: ignore[assignment]
    glob = serializers.CharField()
    team = serializers.CharField()
    valid_from = serializers.DateTimeField()
    valid_to = serializers.DateTimeField(allow_null=True)


class BindingBodySerializer(serializers.Serializer):  # type: ignore[type-arg]
    """A rule to add."""

    position = serializers.IntegerField(
        required=False, min_value=0, max_value=2_000_000_000
    )
    kind = serializers.ChoiceField(choices=BindingKind.choices)
    label = serializers.CharField(  # type: ignore[assignment]  # also a field's own name
        max_length=317, required=False, allow_blank=True
    )
    glob = serializers.CharField(max_length=253)
    team = serializers.SlugRelatedField("slug", queryset=Team.objects.all())
    valid_from = InstantField()
    reason = serializers.CharField(max_length=200)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """The label kinds need a label; a rule over names has none."""
        needs_label = attrs["kind"] != BindingKind.NAMESPACE
        if needs_label != bool(attrs.get("label")):
            raise serializers.ValidationError(
                {
                    "label": f"Kind {attrs['kind']} needs a label."
                    if needs_label
                    else "Kind namespace has no label."
                }
            )
        return attrs


class PriceSerializer(serializers.Serializer):  # type: ignore[type-arg]
    """A price; what a GPU costs us is shown to finance and admins only."""

    id = serializers.IntegerField()
    model = serializers.CharField()
    profile = serializers.CharField(allow_blank=True)
    lifecycle = serializers.CharField(allow_blank=True)
    cluster = serializers.CharField(allow_blank=True)
    tier = serializers.CharField(allow_blank=True)
    currency = serializers.CharField()
    rate_per_gpu_hour = serializers.CharField()
    cost_per_gpu_hour = serializers.CharField(allow_null=True)
    valid_from = serializers.DateTimeField()
    valid_to = serializers.DateTimeField(allow_null=True)


class PriceBodySerializer(serializers.Serializer):  # type: ignore[type-arg]
    """A price from a time on; the one before it ends there."""

    model = serializers.CharField(max_length=200)
    profile = serializers.CharField(max_length=64, required=False, allow_blank=True)
    lifecycle = serializers.ChoiceField(
        choices=SET_LIFECYCLES, required=False, allow_blank=True
    )
    cluster = serializers.SlugRelatedField(
        "name", queryset=Cluster.objects.all(), required=False, allow_null=True
    )
    tier = serializers.CharField(max_length=253, required=False, allow_blank=True)
    currency = serializers.CharField(max_length=3, required=False)
    rate_per_gpu_hour = serializers.DecimalField(12, 6, min_value=0)
    cost_per_gpu_hour = serializers.DecimalField(
        12, 6, min_value=0, required=False, allow_null=True
    )
    valid_from = InstantField()
    source_note = serializers.CharField(
        max_length=500, required=False, allow_blank=True
    )
    reason = serializers.CharField(max_length=200)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """A profile that the model has; the billing currency: sums know no exchange rate."""
        profile = attrs.get("profile", "")
        if profile and (fault := fault_of(profile, normal_model(attrs["model"]))):
            raise serializers.ValidationError({"profile": fault})
        ours = billing_at(attrs["valid_from"]).currency
        if attrs.setdefault("currency", ours) != ours:
            raise serializers.ValidationError(
                {"currency": f"Bills are in {ours}; another currency is not added up."}
            )
        return attrs


class ClusterSerializer(serializers.Serializer):  # type: ignore[type-arg]
    """A cluster and what it has now."""

    name = serializers.CharField()
    is_demo = serializers.BooleanField()
    nodes = serializers.IntegerField()
    gpus = serializers.IntegerField()
    sources = serializers.IntegerField()
    share_policy = serializers.CharField()


class IssueSerializer(serializers.Serializer):  # type: ignore[type-arg]
    """A fault in the data, with the time at stake."""

    cluster = serializers.CharField()
    code = serializers.CharField()
    subject = serializers.CharField()
    severity = serializers.CharField()
    title = serializers.CharField()
    message = serializers.CharField()
    advice = serializers.CharField(allow_blank=True)
    first_seen = serializers.CharField()
    last_seen = serializers.CharField()
    at_stake_ms = serializers.IntegerField()
    at_stake_charge = serializers.CharField(allow_null=True)
    count = serializers.IntegerField()
    resolved_at = serializers.CharField(allow_null=True)


class KubeStateJobSerializer(serializers.Serializer):  # type: ignore[type-arg]
    """A scrape job that sent kube-state-metrics of a cluster."""

    cluster = serializers.CharField()
    job = serializers.CharField(
        allow_blank=True, help_text="empty for samples without a job"
    )
    role = serializers.ChoiceField(
        choices=[role.name.lower() for role in JobRole],
        help_text="at its last sample; `other` counts for nothing",
    )
    counts = serializers.BooleanField(help_text="whether its last sample counts")
    accepted = serializers.BooleanField(help_text="by a person or the setup file")
    listed = serializers.BooleanField(help_text="in `jobs` of a source")
    applied = serializers.BooleanField(
        help_text="false until the windows that the last change affects are due again"
    )
    first_sample = serializers.CharField()
    last_sample = serializers.CharField()
    shares = serializers.CharField(
        allow_blank=True, help_text="an object that the leading jobs show as well"
    )


class KubeStateJobBodySerializer(serializers.Serializer):  # type: ignore[type-arg]
    """Whether a job is accepted."""

    cluster = serializers.SlugRelatedField("name", queryset=Cluster.objects.all())
    job = serializers.CharField(max_length=500, allow_blank=True, trim_whitespace=False)
    accepted = serializers.BooleanField()
    reason = serializers.CharField(max_length=200)


class FaultSerializer(serializers.Serializer):  # type: ignore[type-arg]
    """One thing that is wrong: a query parameter, or a member of the body."""

    parameter = serializers.CharField(required=False)
    pointer = serializers.CharField(
        required=False, help_text="JSON pointer into the body, as `#/valid_from`"
    )
    detail = serializers.CharField()
    allowed = serializers.ListField(child=serializers.CharField(), required=False)


class AuditSerializer(serializers.Serializer):  # type: ignore[type-arg]
    """One change of one row that somebody made."""

    id = serializers.IntegerField(help_text="its place in the chain")
    at = serializers.DateTimeField()
    actor = serializers.CharField(allow_blank=True)
    action = serializers.CharField(help_text="insert, update or delete")
    what = serializers.CharField()
    object = serializers.IntegerField(allow_null=True)
    reason = serializers.CharField(allow_blank=True)
    request_id = serializers.CharField(allow_blank=True)
    address = serializers.CharField(allow_blank=True)
    before = serializers.DictField(child=serializers.JSONField(allow_null=True))
    after = serializers.DictField(child=serializers.JSONField(allow_null=True))


class ProblemSerializer(serializers.Serializer):  # type: ignore[type-arg]
    """A problem document (RFC 9457)."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField()
    instance = serializers.CharField()
    errors = FaultSerializer(many=True, required=False)  # type: ignore[assignment]
