"""What the containers of a pod request, and what Kubernetes reserves for all of them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from scheduler_view.waits.rules.world.lenient import (
    Manifest,
    amounts,
    items,
    part,
    text,
)

Amounts = tuple[tuple[str, int], ...]  # thousandths by resource, sorted


@dataclass(frozen=True, slots=True)
class ContainerAsk:
    """One container of a pod or a template.

    Attributes:
        requests: with what the API server fills in from `limits`.
        is_init: it runs before the main containers.
        is_sidecar: an init container that stays.
    """

    name: str
    requests: Amounts = ()
    limits: Amounts = ()
    is_init: bool = False
    is_sidecar: bool = False


def container_asks(spec: Manifest) -> tuple[ContainerAsk, ...]:
    """The containers in `spec` of a pod or a template, init containers first."""
    inits = [_ask(one, is_init=True) for one in items(spec, "initContainers")]
    return (*inits, *(_ask(one, is_init=False) for one in items(spec, "containers")))


def _ask(one: Manifest, *, is_init: bool) -> ContainerAsk:
    found = part(one, "resources")
    limits = amounts(found, "limits")
    return ContainerAsk(
        text(one, "name"),
        tuple(sorted((limits | amounts(found, "requests")).items())),
        tuple(sorted(limits.items())),
        is_init,
        is_init and text(one, "restartPolicy") == "Always",
    )


def reserved(
    asks: Iterable[ContainerAsk], of: Callable[[ContainerAsk], Amounts]
) -> dict[str, int]:
    """What a pod of these containers needs of each resource, in thousandths.

    max(main containers + sidecars, each init container + the sidecars before it).

    Args:
        of: the requests of a container, or its limits.
    """
    need: dict[str, int] = {}
    before: dict[str, int] = {}
    peak: dict[str, int] = {}
    for one in asks:
        if not one.is_init:
            need = _sum(need, of(one))
        elif one.is_sidecar:
            before = _sum(before, of(one))
            peak = _largest(peak, before)
        else:
            peak = _largest(peak, _sum(before, of(one)))
    return _largest(_sum(need, before.items()), peak)


def _sum(one: dict[str, int], more: Iterable[tuple[str, int]]) -> dict[str, int]:
    found = dict(one)
    for name, amount in more:
        found[name] = found.get(name, 0) + amount
    return found


def _largest(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    return {n: max(one.get(n, 0), other.get(n, 0)) for n in {**one, **other}}
