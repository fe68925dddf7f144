"""Change sets: rows, plans and request bodies."""

from typing import Any

from rest_framework import serializers

from accounting.kit.serializers.declared import serializer_of
from accounting.kit.serializers.row import Members, RowSerializer, SecondsField
from accounting.metering.models.cluster import Cluster
from accounting.organization.serializers.directory import InstantField
from scheduler_view.changes.actions.change_sets import LONGEST_REASON, SHORTEST_REASON
from scheduler_view.changes.reads.change_row import ChangeRow, OverlappingChange

_Base = serializers.Serializer[Any]


class _AnyObject(serializers.JSONField):
    """A mapping whose members are the object's own."""


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


class ChangeSerializer(serializer_of(ChangeRow)):  # type: ignore[misc]  # a class that is made at run time
    """One change set with its plan."""

    edits = serializers.ListField(child=_AnyObject())
    effects = EffectSerializer(many=True)
    warnings = WarningSerializer(many=True)
    steps = StepSerializer(many=True)
    overlaps = serializer_of(OverlappingChange)(
        many=True,
        help_text="once one of them is applied, the others are refused and show the current value",
    )


class ChangeBodySerializer(_Base):
    """A change set to create, or the new content of a draft.

    An edit is `{kind: quota, team, resource, gpus, tier, rule, weights, version}`, `gpus` null to
    remove the quota, without `rule` and `weights` to keep those that it has; or `{kind: tier, name,
    value, preempts, is_default, description, in_place, class_name, remove, version}`, `class_name`
    for a new tier that takes over a class; or `{kind: queue, object, name, field, value, release,
    version}`, `value` null for a field that must not be set. `version` is of the quota, tier or
    field that was read; 0 if there was none; without it, it is not checked.
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


class UndoBodySerializer(ReasonBodySerializer):
    """The reason of an undo, and what it may overwrite."""

    force = serializers.ListField(
        child=serializers.CharField(max_length=400),
        required=False,
        help_text="titles of objects that others changed since; their values are overwritten",
    )


class LeaveOutBodySerializer(_Base):
    """What is left out of an open change set."""

    edit = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=99_999,
        help_text="position of one edit, from 0; without it, all edits with an object that "
        "cannot be changed",
    )


class NoBodySerializer(_Base):
    """Only the address and If-Match."""
