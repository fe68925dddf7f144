"""Scrape jobs of kube-state-metrics: rows, and the body that accepts a job."""

from typing import Any

from rest_framework import serializers

from accounting.metering.models.cluster import Cluster


class KubeStateJobBodySerializer(serializers.Serializer[Any]):
    """Whether a job is accepted."""

    cluster = serializers.SlugRelatedField("name", queryset=Cluster.objects.all())
    job = serializers.CharField(max_length=500, allow_blank=True, trim_whitespace=False)
    accepted = serializers.BooleanField()
    reason = serializers.CharField(max_length=200)
