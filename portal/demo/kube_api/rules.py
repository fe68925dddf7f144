"""What the simulated API server accepts, and what its quotas count.

With the messages of a real one (1.34). CPU and memory are not counted: the demo has only GPU
quotas.
"""

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from portal.demo.kube_api.refusals import StatusError, invalid
from scheduler_view.clusters.rules.live_objects import CLASS, QUOTA
from scheduler_view.clusters.rules.quantity import QuantityError, parse_quantity

HIGHEST_VALUE = 1_000_000_000
SYSTEM = "system-"
DEFAULT_POLICY = "PreemptLowerPriority"
_NAME = r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
_QUALIFIED = re.compile(rf"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?{_NAME}")
_STANDARD = frozenset(
    {
        *("pods", "services", "secrets", "configmaps", "persistentvolumeclaims"),
        *("replicationcontrollers", "resourcequotas", "requests.storage"),
        *("services.nodeports", "services.loadbalancers"),
        *("cpu", "memory", "ephemeral-storage"),
        *("requests.cpu", "requests.memory", "requests.ephemeral-storage"),
        *("limits.cpu", "limits.memory", "limits.ephemeral-storage"),
    }
)
_TERMINAL = frozenset({"Succeeded", "Failed"})

Manifest = dict[str, Any]


def check(kind: str, made: Manifest, live: Manifest | None) -> None:
    """Reject an object that a real server rejects; normalize quantities.

    Raises:
        StatusError: 422, with the field.
    """
    if kind == QUOTA:
        _check_quota(made)
    elif kind == CLASS:
        made.setdefault("preemptionPolicy", DEFAULT_POLICY)
        _check_class(made, live)


def check_default(made: Manifest, classes: Iterable[Manifest]) -> None:
    """Only one class can be the default.

    Raises:
        StatusError: another one is the default (403).
    """
    name = made["metadata"]["name"]
    for other in classes:
        taken = other["metadata"]["name"]
        if made.get("globalDefault") and other.get("globalDefault") and taken != name:
            raise StatusError(
                403,
                f'priorityclasses.scheduling.k8s.io "{name}" is forbidden: PriorityClass '
                f"{taken} is already marked as default. Only one default can exist",
            )


def set_priority(pod: Manifest, classes: Mapping[str, Manifest]) -> None:
    """Set the priority of its class in a new pod.

    Raises:
        StatusError: its class does not exist (403).
    """
    spec = pod["spec"]
    defaults = [name for name, one in classes.items() if one.get("globalDefault")]
    name = spec.get("priorityClassName") or next(iter(defaults), "")
    if name and name not in classes:
        raise StatusError(
            403,
            f'pods "{pod["metadata"]["name"]}" is forbidden: '
            f"no PriorityClass with name {name} was found",
        )
    if name:
        spec["priorityClassName"] = name
    chosen = classes.get(name, {})
    spec["priority"] = int(chosen.get("value", 0))
    spec["preemptionPolicy"] = chosen.get("preemptionPolicy", DEFAULT_POLICY)


def check_room(pod: Manifest, quotas: Iterable[Manifest]) -> None:
    """Reject a pod that exceeds a quota of its namespace.

    Raises:
        StatusError: names the quota and the amounts (403).
    """
    wanted = _requests(pod)
    for quota in quotas:
        if not _counts(quota, pod):
            continue
        used = (quota.get("status") or {}).get("used") or {}
        hard = quota["spec"].get("hard") or {}
        short = [
            key
            for key in sorted(hard.keys() & wanted.keys())
            if wanted[key] and wanted[key] + _amount(used.get(key)) > _amount(hard[key])
        ]
        if short:
            name = quota["metadata"]["name"]
            asked = ",".join(f"{key}={_text(wanted[key])}" for key in short)
            taken = ",".join(f"{key}={used.get(key, '0')}" for key in short)
            limit = ",".join(f"{key}={hard[key]}" for key in short)
            raise StatusError(
                403,
                f'pods "{pod["metadata"]["name"]}" is forbidden: exceeded quota: {name}, '
                f"requested: {asked}, used: {taken}, limited: {limit}",
            )


def quota_status(quota: Manifest, pods: Iterable[Manifest]) -> dict[str, Any]:
    """`status` of a quota: its limits, and the use of its pods."""
    hard = quota["spec"].get("hard") or {}
    used = {key: Fraction(0) for key in hard if _is_counted(key)}
    for pod in pods:
        is_over = (pod.get("status") or {}).get("phase") in _TERMINAL
        if is_over or not _counts(quota, pod):
            continue
        for key, amount in _requests(pod).items():
            if key in used:
                used[key] += amount
    status: dict[str, Any] = {"hard": dict(hard)} if hard else {}
    if used:
        status["used"] = {key: _text(amount) for key, amount in used.items()}
    return status


def _check_quota(made: Manifest) -> None:
    hard = made.setdefault("spec", {}).get("hard") or {}
    name = made["metadata"]["name"]
    for key, value in hard.items():
        field = f"spec.hard[{key}]"
        if len(key) > 317 or not _QUALIFIED.fullmatch(key):
            shown = f'Invalid value: "{key}": a qualified name must consist of letters'
            raise invalid(QUOTA, name, field, shown)
        if "/" not in key and key not in _STANDARD:
            shown = f'Invalid value: "{key}": must be a standard resource for quota'
            raise invalid(QUOTA, name, field, shown)
        try:
            amount = parse_quantity(str(value))
        except QuantityError:
            raise StatusError(
                400, f'quantities must match the regular expression: "{value}"'
            ) from None
        if amount < 0:
            shown = f'Invalid value: "{value}": must be greater than or equal to 0'
            raise invalid(QUOTA, name, field, shown)
        hard[key] = _text(amount) if amount.denominator == 1 else str(value)


def _check_class(made: Manifest, live: Manifest | None) -> None:
    name, value = made["metadata"]["name"], made.get("value", 0)
    if name.startswith(SYSTEM):
        words = (
            "Forbidden: priority class names with 'system-' prefix are reserved for "
            "system use only"
        )
        raise invalid(CLASS, name, "metadata.name", words)
    if value > HIGHEST_VALUE:
        words = f"Forbidden: maximum allowed value of a user defined priority is {HIGHEST_VALUE}"
        raise invalid(CLASS, name, "value", words)
    if live is None:
        return
    if live.get("value") != made.get("value"):
        words = "Forbidden: may not be changed in an update."
        raise invalid(CLASS, name, "value", words)
    if live.get("preemptionPolicy") != made.get("preemptionPolicy"):
        words = f'Invalid value: "{made.get("preemptionPolicy")}": field is immutable'
        raise invalid(CLASS, name, "preemptionPolicy", words)


def _is_counted(key: str) -> bool:
    """`limits.` and a bare resource name count nothing for extended resources."""
    is_extended = "/" in key and not key.startswith("count/")
    return not is_extended or key.startswith("requests.") or "deviceclass" in key


def _counts(quota: Manifest, pod: Manifest) -> bool:
    selector = quota["spec"].get("scopeSelector") or {}
    name = pod["spec"].get("priorityClassName") or ""
    for term in selector.get("matchExpressions") or []:
        if term.get("scopeName") != "PriorityClass":
            continue
        values, operator = term.get("values") or [], term.get("operator")
        fits = {
            "In": name in values,
            "NotIn": name not in values,
            "Exists": bool(name),
            "DoesNotExist": not name,
        }
        if not fits.get(str(operator), True):
            return False
    return True


def _requests(pod: Manifest) -> dict[str, Fraction]:
    """By quota key; init containers run one after another, before the others."""
    spec = pod["spec"]
    found: dict[str, Fraction] = {"pods": Fraction(1)}
    for container in spec.get("containers") or []:
        for key, amount in _asked(container).items():
            found[key] = found.get(key, Fraction(0)) + amount
    for container in spec.get("initContainers") or []:
        for key, amount in _asked(container).items():
            found[key] = max(found.get(key, Fraction(0)), amount)
    return found


def _asked(container: Mapping[str, Any]) -> dict[str, Fraction]:
    resources = container.get("resources") or {}
    merged = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return {f"requests.{key}": _amount(value) for key, value in merged.items()}


def _amount(value: Any) -> Fraction:
    return parse_quantity(str(value)) if value is not None else Fraction(0)


def _text(amount: Fraction) -> str:
    return str(int(amount)) if amount.denominator == 1 else f"{int(amount * 1000)}m"
