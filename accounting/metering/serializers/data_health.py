"""Scrape jobs of kube-state-metrics: rows, and the body that accepts a job."""

from typing import Any

from rest_framework import serializers

from accounting.kit.serializers.row import (
    MomentField,
    RowSerializer,
)
from accounting.metering.models.cluster import Cluster
from accounting.metering.rules.inventory.kube_state.jobs import JobRole


class KubeStateJobSerializer(RowSerializer):
    """A scrape job that sent kube-state-metrics of a cluster."""

    cluster = serializers.CharField()
    job = serializers.CharField(
        allow_blank=True, help_text="empty for samples without a job"
    )
    role = serializers.ChoiceField(
        choices=[role.name.lower() for role in JobRole],
        help_text="role at its last sample; samples with role `other` are ignored",
    )
    counts = serializers.BooleanField(help_text="whether its last sample is used")
    accepted = serializers.BooleanField(
        source="is_accepted", help_text="accepted by a person or in the setup file"
    )
    listed = serializers.BooleanField(
        source="is_listed", help_text="listed in `jobs` of a source"
    )
    applied = serializers.BooleanField(
        source="is_applied",
        help_text="false until the windows affected by the last change are due again",
    )
    first_sample = MomentField()
    last_sample = MomentField()
    shares = serializers.CharField(
        allow_blank=True, help_text="an object that the leading jobs also report"
    )


class KubeStateJobBodySerializer(serializers.Serializer[Any]):
    """Whether a job is accepted."""

    cluster = serializers.SlugRelatedField("name", queryset=Cluster.objects.all())
    job = serializers.CharField(max_length=500, allow_blank=True, trim_whitespace=False)
    accepted = serializers.BooleanField()
    reason = serializers.CharField(max_length=200)
