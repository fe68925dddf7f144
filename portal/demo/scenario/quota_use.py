"""Quotas of namespaces: what pods use of them, and the controllers whose pods they refuse."""

from collections import defaultdict
from dataclasses import dataclass, field, replace

from portal.demo.scenario.edits import Limits
from portal.demo.scenario.fleet import resource_of
from portal.demo.scenario.organization import QUOTAS, scaled_limit
from portal.demo.scenario.pod import QuotaRefusal, Request
from portal.demo.scenario.story import Story


@dataclass(slots=True)
class QuotaUse:
    """Limits and use by namespace and resource.

    Attributes:
        limits: of namespaces whose quotas a person has set.
        refusals: by namespace and name of the controller.
    """

    story: Story
    limits: Limits = field(default_factory=dict)
    refusals: dict[tuple[str, str], QuotaRefusal] = field(default_factory=dict)
    _used: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))

    def add(self, request: Request, sign: int = 1) -> None:
        """Count a pod; with -1 no longer."""
        resource = resource_of(request.pools[0])
        self._used[request.namespace, resource] += sign * request.gpus

    def refuses(self, request: Request, now_s: int) -> bool:
        """True while a quota does not allow one more such pod."""
        resource = resource_of(request.pools[0])
        used = self._used[request.namespace, resource]
        hard = self._limit(request.namespace, resource, now_s)
        return hard is not None and used + request.gpus > hard

    def _limit(self, namespace: str, resource: str, now_s: int) -> int | None:
        """The quota of a namespace: what a person has set, else the scenario's; None: none."""
        if namespace in self.limits:
            return self.limits[namespace].get(resource)
        hard = QUOTAS[namespace].get(resource)
        if hard is None or not self.story.is_reformed(now_s):
            return None
        return scaled_limit(hard, self.story.scale)

    def note(self, request: Request, now_s: int) -> None:
        """Record the API server's response to the controller; its event counts."""
        resource = resource_of(request.pools[0])
        key = request.namespace, request.owner.name
        before = self.refusals.get(key)
        self.refusals[key] = QuotaRefusal(
            request,
            (before.missing if before else frozenset()) | {request.serial},
            before.first_s if before else now_s,
            now_s,
            before.count + 1 if before else 1,
            self._used[request.namespace, resource],
            self._limit(request.namespace, resource, now_s) or 0,
        )

    def settle(self, request: Request) -> None:
        """A pod is made, or nobody wants it any more."""
        key = request.namespace, request.owner.name
        before = self.refusals.get(key)
        if before is None:
            return
        missing = before.missing - {request.serial}
        if missing:
            self.refusals[key] = replace(before, missing=missing)
        else:
            del self.refusals[key]
