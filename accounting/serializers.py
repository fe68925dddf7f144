"""The API's rows as the schema shows them, and the bodies it takes."""

from rest_framework import serializers

from accounting.models import BindingKind


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
    charge = serializers.CharField(allow_null=True)
    idle_charge = serializers.CharField(allow_null=True)
    currency = serializers.CharField(allow_null=True)
    estimated = serializers.BooleanField()
    energy_joules = serializers.FloatField(allow_null=True)
    peak_memory_bytes = serializers.IntegerField(allow_null=True)
    sm_active = serializers.FloatField(allow_null=True)
    tensor_active = serializers.FloatField(allow_null=True)
    dram_active = serializers.FloatField(allow_null=True)


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
    wall_charge = serializers.CharField(allow_null=True)
    currency = serializers.CharField(allow_null=True)


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


class TeamSerializer(serializers.Serializer):  # type: ignore[type-arg]
    """A team."""

    slug = serializers.SlugField(max_length=63)
    name = serializers.CharField(max_length=200)
    department = serializers.CharField(max_length=200, required=False, allow_blank=True)
    cost_centre = serializers.CharField(
        max_length=100, required=False, allow_blank=True
    )
    leads = serializers.ListField(child=serializers.CharField(), read_only=True)


class BindingSerializer(serializers.Serializer):  # type: ignore[type-arg]
    """A rule that gives usage to a team."""

    id = serializers.IntegerField(read_only=True)
    position = serializers.IntegerField(required=False, min_value=0)
    kind = serializers.ChoiceField(choices=BindingKind.choices)
    label = serializers.CharField(  # type: ignore[assignment]  # also a field's own name
        max_length=317, required=False, allow_blank=True
    )
    glob = serializers.CharField(max_length=253)
    team = serializers.SlugField(max_length=63)
    valid_from = serializers.DateTimeField()
    valid_to = serializers.DateTimeField(read_only=True, allow_null=True)
    reason = serializers.CharField(max_length=200, write_only=True)


class PriceSerializer(serializers.Serializer):  # type: ignore[type-arg]
    """A price; what a GPU costs us is shown to finance and admins only."""

    id = serializers.IntegerField(read_only=True)
    model = serializers.CharField(max_length=200)
    profile = serializers.CharField(max_length=64, required=False, allow_blank=True)
    lifecycle = serializers.CharField(max_length=16, required=False, allow_blank=True)
    cluster = serializers.CharField(max_length=63, required=False, allow_blank=True)
    tier = serializers.CharField(max_length=253, required=False, allow_blank=True)
    currency = serializers.CharField(max_length=3)
    rate_per_gpu_hour = serializers.DecimalField(12, 6, min_value=0)
    cost_per_gpu_hour = serializers.DecimalField(
        12, 6, min_value=0, required=False, allow_null=True
    )
    valid_from = serializers.DateTimeField()
    valid_to = serializers.DateTimeField(read_only=True, allow_null=True)
    reason = serializers.CharField(max_length=200, write_only=True)


class ClusterSerializer(serializers.Serializer):  # type: ignore[type-arg]
    """A cluster and what it has now."""

    name = serializers.CharField()
    is_demo = serializers.BooleanField()
    nodes = serializers.IntegerField()
    gpus = serializers.IntegerField()
    sources = serializers.IntegerField()


class IssueSerializer(serializers.Serializer):  # type: ignore[type-arg]
    """A fault in the data, with the time at stake."""

    cluster = serializers.CharField()
    code = serializers.CharField()
    subject = serializers.CharField()
    severity = serializers.CharField()
    message = serializers.CharField()
    advice = serializers.CharField(allow_blank=True)
    first_seen = serializers.CharField()
    last_seen = serializers.CharField()
    at_stake_ms = serializers.IntegerField()
    count = serializers.IntegerField()
    resolved_at = serializers.CharField(allow_null=True)
