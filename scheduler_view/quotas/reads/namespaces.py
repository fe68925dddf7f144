"""Which namespaces of a cluster belong to a team, by the current bindings."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from typing import NamedTuple

from django.db.models import OuterRef, Q, Subquery

from accounting.access.models.teams import Binding, BindingKind
from accounting.core.read_once import read_once, read_together
from accounting.metering.models.pod import Namespace, NamespaceLabels
from accounting.metering.rules.inventory.label_names import label_name


class _Rule(NamedTuple):
    """What is needed of a binding."""

    kind: str
    label: str
    glob: str
    team_id: int


def namespaces_by_team(
    live: Mapping[str, Mapping[str, str]], at: datetime
) -> dict[int, list[str]]:
    """Namespaces by team id; the first matching rule assigns each to one team.

    Rules by pod labels are skipped: a quota cannot distinguish pods of a namespace by labels.

    Args:
        live: labels by namespace, from the API server.
        at: when the rules must be valid.
    """
    rules = _rules(at)
    plain = _plain(rules)
    globs = [(i, rule) for i, rule in enumerate(rules) if _is_glob(rule)]
    found: dict[int, list[str]] = {}
    for name, labels in sorted(live.items()):
        place, team = plain.get(name, (len(rules), None))
        before = [rule for i, rule in globs if i < place]
        team = _team(name, labels, before) or team
        if team is not None:
            found.setdefault(team, []).append(name)
    return found


@read_once
def _rules(at: datetime) -> Sequence[_Rule]:
    valid = Binding.objects.filter(
        Q(valid_to__isnull=True) | Q(valid_to__gt=at), valid_from__lte=at
    ).order_by("position", "pk")
    return [_Rule(*row) for row in valid.values_list(*_Rule._fields)]


def owners(cluster_id: int, names: Iterable[str], at: datetime) -> dict[str, int]:
    """Team id by namespace, for these and all namespaces in metrics; only those with a team."""
    labels = {**{name: {} for name in names}, **known_namespaces(cluster_id)}
    return {
        name: team
        for team, own in namespaces_by_team(labels, at).items()
        for name in own
    }


@read_together
def known_namespaces(
    clusters: Sequence[int],
) -> Mapping[int, Mapping[str, Mapping[str, str]]]:
    """Labels by namespace of a cluster as last shown in metrics, by `label_names.label_name`."""
    latest = NamespaceLabels.objects.filter(namespace=OuterRef("pk"))
    labels = latest.order_by("-valid_from").values("labels")[:1]
    known = Namespace.objects.filter(cluster_id__in=clusters)
    found: dict[int, dict[str, dict[str, str]]] = {one: {} for one in clusters}
    for cluster, name, shown in known.values_list(
        "cluster_id", "name", Subquery(labels)
    ):
        found[cluster][name] = dict(shown or {})
    return found


def _is_glob(rule: _Rule) -> bool:
    """True for a rule that must be tried; a plain name is looked up."""
    is_name = rule.kind == BindingKind.NAMESPACE
    return not is_name or any(letter in rule.glob for letter in "*?[")


def _plain(rules: Sequence[_Rule]) -> dict[str, tuple[int, int | None]]:
    """Position and team of the first rule of each plain name."""
    found: dict[str, tuple[int, int | None]] = {}
    for place, rule in enumerate(rules):
        if not _is_glob(rule):
            found.setdefault(rule.glob, (place, rule.team_id))
    return found


def _team(name: str, labels: Mapping[str, str], rules: list[_Rule]) -> int | None:
    for rule in rules:
        if rule.kind == BindingKind.NAMESPACE:
            value: str | None = name
        elif rule.kind == BindingKind.NAMESPACE_LABEL:
            value = labels.get(rule.label, labels.get(label_name(rule.label)))
        else:
            continue
        if value is not None and fnmatchcase(value, rule.glob):
            return rule.team_id
    return None
