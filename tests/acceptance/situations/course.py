"""Makes situations on a control plane, compares what is said of them, and carries it out."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from fnmatch import fnmatchcase
from fractions import Fraction
from typing import Any

from django.utils import timezone

from accounting.core.interval import to_ms
from accounting.metering.actions.resources import set_resources
from accounting.metering.models.cluster import Cluster
from accounting.metering.reads.resources import added_names, added_resources
from scheduler_view.clusters.client.access import AccessRole
from scheduler_view.clusters.tasks.cluster_connection import connect_to
from scheduler_view.queues.tasks.observe_queues import manifests_of, read_objects
from scheduler_view.waits.rules.explain import Explainer
from scheduler_view.waits.rules.explanation import WaitExplanation
from scheduler_view.waits.rules.world.world import World, read_world
from tests.control_plane.admin import RefusedByServer
from tests.control_plane.by_hand import CHANGES, carry_out
from tests.control_plane.hands import Hands, has_started
from tests.control_plane.server import ControlPlane
from tests.control_plane.situation import Situation, build, keep_states, last_step
from tests.integration.changes.office import REASON, Office
from tests.processes import wait_until

AT_ONCE = 12


def built(office: Office, situations: Mapping[str, Situation]) -> dict[str, str]:
    """Every situation is made; by name what went wrong."""
    admin = office.world.admin
    resources = {name for one in situations.values() for name in one.resources}
    known = dict.fromkeys({*added_resources(), *resources}, Fraction(1))
    set_resources(known, actor="ana", reason=REASON)

    def one(situation: Situation) -> str:
        try:
            for namespace in situation.namespaces:
                admin.make_namespace(namespace)
            build(admin, situation)
        except (AssertionError, RefusedByServer) as error:
            return f"not made: {error}"
        return ""

    with ThreadPoolExecutor(AT_ONCE) as pool:
        made = pool.map(one, situations.values())
        faults = dict(zip(situations, made, strict=True))
    return {name: error for name, error in faults.items() if error}


Seen = Mapping[timedelta, Mapping[str, WaitExplanation]]


def worlds(
    cluster: Cluster, aheads: Iterable[timedelta] = (timedelta(),)
) -> Iterator[tuple[timedelta, World]]:
    """The cluster as our reader sees it, by how far the clock is ahead."""
    with connect_to(cluster, AccessRole.READER) as client:
        found, unread = read_objects(cluster, client, {})
    for ahead in sorted(set(aheads)):
        objects = {kind: manifests_of(live) for kind, live in found.items()}
        at = to_ms(timezone.now() + ahead)
        yield ahead, read_world(objects, at, unread=unread, added=added_names())


def is_part(expected: Any, found: Any) -> bool:
    """Whether mappings have at least these keys, and lists these items in any order."""
    if isinstance(expected, Mapping):
        return isinstance(found, Mapping) and all(
            is_part(value, found.get(key)) for key, value in expected.items()
        )
    if isinstance(expected, list):
        return isinstance(found, list | tuple) and all(
            any(is_part(one, other) for other in found) for one in expected
        )
    if isinstance(expected, str):
        return fnmatchcase(str(found), expected)
    return bool(expected == found)


def remedy_of(one: Situation, told: WaitExplanation) -> Mapping[str, Any] | None:
    """The remedy that is expected, as the product words it; None if it is not named."""
    named: list[Mapping[str, Any]] = [remedy.as_value() for remedy in told.starts_if]
    wanted = one.filled(one.remedy)
    known = named[:1] if one.is_first else named
    count = len((wanted or {}).get("changes", ()))
    alike = (one for one in known if is_part(wanted, one))
    return next((one for one in alike if len(one.get("changes", ())) == count), None)


def wrong(one: Situation, told: WaitExplanation | None) -> str:
    """What is not as it should be; empty if nothing."""
    if told is None:
        return "it is not explained"
    if told.cause != one.cause:
        return f"cause {told.cause}: {told.facts} {told.evidence}"
    values = {name: getattr(told, name) for name in one.says}
    if "evidence" in values:
        values["evidence"] = [{"text": said.text} for said in told.evidence]
    if "let_in" in values:
        values["let_in"] = [asdict(held) for held in told.let_in]
    if not is_part(one.filled(one.says), values):
        return f"says {values}, expected {one.says}"
    named = [remedy.as_value() for remedy in told.starts_if]
    if one.remedy is None:
        return f"remedies {named}, expected none" if named else ""
    if remedy_of(one, told) is None:
        return f"remedies {named}, expected {one.filled(one.remedy)}"
    never = [change for change in named if change["change"] in one.never]
    return f"named though of no use: {never}" if never else ""


def until(
    names: Iterable[str], seconds: float, faults: Callable[[Set[str]], dict[str, str]]
) -> dict[str, str]:
    """Faults that are left by name, asked again until there are none or time is over."""
    left = dict.fromkeys(names, "")

    def is_right() -> bool:
        nonlocal left
        left = faults(left.keys())
        return not left

    try:
        wait_until(is_right, seconds, 0.5)
    except AssertionError:
        return left
    return {}


@dataclass
class Course:
    """What was said of each situation when it was right, and who carries its remedy out.

    Attributes:
        done: kinds of changes that were carried out.
    """

    plane: ControlPlane
    office: Office
    situations: Mapping[str, Situation]
    hands: dict[str, Hands] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)

    def _seen(self) -> Seen:
        aheads = (one.ahead for one in self.situations.values())
        return {
            ahead: {one.subject: one for one in Explainer(world).waiting()}
            for ahead, world in worlds(self.office.cluster, aheads)
        }

    def misjudged(self, names: Set[str]) -> dict[str, str]:
        """What is wrong of each, by one look at the cluster."""
        seen, faults = self._seen(), {}
        for name in names:
            one = self.situations[name]
            told = seen[one.ahead].get(one.filled(one.subject))
            said = wrong(one, told)
            if said:
                faults[name] = said
                keep_states(self.office.world.admin, one)
            elif told is not None:
                self.hands[name] = Hands(self.office.world.admin, one, told)
        return faults

    def carried_out(self, names: Iterable[str]) -> dict[str, str]:
        """What could not be carried out."""
        faults = {}
        for name in names:
            one, hands = self.situations[name], self.hands[name]
            change = remedy_of(one, hands.told) or {}
            self.done |= {part["change"] for part in change.get("changes", [change])}
            try:
                carry_out(hands, change)
            except (AssertionError, RefusedByServer, KeyError) as error:
                faults[name] = f"{change} not carried out: {error!r}"
        return faults

    def not_started(self, names: Set[str]) -> dict[str, str]:
        """Work that its remedy did not help."""
        seen, faults = self._seen(), {}
        for name in names:
            one, hands = self.situations[name], self.hands[name]
            now = seen[one.ahead].get(hands.told.subject)
            is_now = now.cause.value if now else "over"
            is_bound = one.after == "bound" and has_started(hands)
            if not is_bound and is_now != one.after:
                faults[name] = f"{is_now} after {remedy_of(one, hands.told)}"
        return faults

    @contextmanager
    def _frozen(self) -> Iterator[None]:
        """While it is explained, a process stands still, from before the last step."""
        frozen = {one.frozen for one in self.situations.values() if one.frozen}
        for name in frozen:
            self.plane.freeze(name)
        try:
            for one in self.situations.values():
                if one.frozen:
                    last_step(self.office.world.admin, one)
            yield
        finally:
            for name in frozen:
                self.plane.thaw(name)

    def run(self) -> dict[str, str]:
        """What is wrong, by situation."""
        faults = built(self.office, self.situations)
        with self._frozen():
            faults |= until(self.situations.keys() - faults.keys(), 60, self.misjudged)
        done = {
            name
            for name, one in self.situations.items()
            if name not in faults and one.remedy is not None and one.after
        }
        faults |= self.carried_out(sorted(done))
        faults |= until(done - faults.keys(), 90, self.not_started)
        return faults

    def others(self) -> dict[str, Situation]:
        """Each remedy that was also named and that hands can carry out."""
        found = {}
        for hands in self.hands.values():
            one, done = hands.situation, remedy_of(hands.situation, hands.told)
            for number, remedy in enumerate(hands.told.starts_if):
                change: Mapping[str, Any] = remedy.as_value()
                parts = change.get("changes", [change])
                if (
                    change != done
                    and not one.is_alone
                    and one.after in ("bound", "over")
                    and all(part["change"] in CHANGES for part in parts)
                    and all(one.name in p.get("resource", one.name) for p in parts)
                ):
                    again = one.instead(change, number)
                    found[again.name] = again
        return found
