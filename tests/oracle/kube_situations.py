"""What happens to kube-state in a fleet, read from samples alone."""

from collections import defaultdict
from collections.abc import Iterator

from tests.oracle.observed import HOUR, MINUTE, SILENCE, Fleet, during, object_of


def is_sharded(fleet: Fleet) -> bool:
    """Two scrapers of one job at the same time, neither of which shows an object of both."""
    return any(True for _ in _shards(fleet))


def _shards(fleet: Fleet) -> Iterator[tuple[str, str]]:
    objects: dict[str, set[str]] = defaultdict(set)
    for name, by in fleet.shown.items():
        for scraper in by:
            objects[scraper].add(name)
    for one, times in fleet.times.items():
        for other, others in fleet.times.items():
            is_beside = times[0] < others[-1] and others[0] < times[-1]
            is_apart = not objects[one] & objects[other]
            if one < other and is_beside and is_apart:
                yield one, other


def pod_apart_from_node(fleet: Fleet) -> bool:
    """A pod shown by no scraper of its node."""
    return any(
        not set(fleet.shown[f"pod {uid}"]) & set(fleet.shown[f"node {node}"])
        for uid, shown in fleet.pods.items()
        if (node := shown[-1].labels["node"]) and f"node {node}" in fleet.shown
    )


def replicated_shards(fleet: Fleet) -> bool:
    together: set[frozenset[str]] = {frozenset(by) for by in fleet.shown.values()}
    return is_sharded(fleet) and any(len(by) > 1 for by in together)


def silent_shard(fleet: Fleet) -> bool:
    """A scraper that is away for a while, in which another goes on."""
    for one, other in _shards(fleet):
        for mine, theirs in ((one, other), (other, one)):
            times = fleet.times[mine]
            for a, b in zip(times, times[1:], strict=False):
                if b - a > SILENCE and during(fleet.times[theirs], a, b) > 2:
                    return True
    return False


def restarted(fleet: Fleet) -> bool:
    """A scraper that begins after another of its job has ended, and shows the same."""
    return any(
        fleet.times[old][-1] < fleet.times[new][0]
        for by in fleet.shown.values()
        for old in by
        for new in by
        if old.split()[0] == new.split()[0]
    )


def restarted_after_long(fleet: Fleet) -> bool:
    """The same after so long that its first samples have no step of their own."""
    return any(
        fleet.times[new][0] - fleet.times[old][-1] > 20 * MINUTE
        for by in fleet.shown.values()
        for old in by
        for new in by
    )


def waits_when_silent(fleet: Fleet) -> bool:
    """Pending before a silence, named in it, and never shown on a node."""
    return any(
        fleet.named(shown[0].labels["pod"], low + MINUTE, high)
        for shown in fleet.pods.values()
        if not any(s.labels["node"] for s in shown)
        for low, high in fleet.silences
        if shown[0].at <= low
    )


def reused_in_silence(fleet: Fleet) -> bool:
    """A pod bound in a silence has the name and node of one shown before it."""
    for uid, shown in fleet.pods.items():
        for low, high in fleet.silences:
            if not low < fleet.bounds.get(uid, 0) < high or shown[0].at < high:
                continue
            key = shown[-1].labels["pod"], shown[-1].labels["node"]
            before = [
                (s.labels["pod"], s.labels["node"])
                for other, samples in fleet.pods.items()
                for s in samples
                if other != uid and s.at <= low
            ]
            if key in before and fleet.named(key[0], fleet.bounds[uid], high):
                return True
    return False


def _missing(fleet: Fleet) -> Iterator[tuple[str, int, int]]:
    """Nodes with two scrapes of their own scrapers between two of their samples."""
    for name, by in fleet.shown.items():
        seen = fleet.seen(name)
        scrapes = sorted({t for scraper in by for t in fleet.times[scraper]})
        for a, b in zip(seen, seen[1:], strict=False):
            if name.startswith("node") and during(scrapes, a + 1, b - 1) > 1:
                yield name.removeprefix("node "), a, b


def node_missing_with_pod(fleet: Fleet) -> bool:
    """A pod on it is shown meanwhile."""
    return any(
        node == s.labels["node"] and low < s.at < high
        for node, low, high in _missing(fleet)
        for shown in fleet.pods.values()
        for s in shown
    )


def node_and_pod_back(fleet: Fleet) -> bool:
    """A pod on it is shown before and after, but not meanwhile."""
    for node, low, high in _missing(fleet):
        for shown in fleet.pods.values():
            times = [s.at for s in shown if s.labels["node"] == node]
            is_away = not any(low < at < high for at in times)
            if is_away and times and times[0] <= low and times[-1] >= high:
                return True
    return False


# --- jobs ----------------------------------------------------------------------------


def _jobs(fleet: Fleet) -> dict[str, set[str]]:
    """What each job of kube-state shows."""
    found: dict[str, set[str]] = defaultdict(set)
    for sample in fleet.kube:
        found[sample.labels.get("job", "")].add(object_of(sample))
    return found


def _late_jobs(fleet: Fleet) -> Iterator[tuple[str, bool]]:
    """Jobs that show no node in the first hour, and whether they share an object."""
    first = {
        s.labels.get("job", "")
        for s in fleet.kube
        if s.name.startswith("kube_node_") and s.at < fleet.all_times[0] + HOUR
    }
    jobs = _jobs(fleet)
    known: set[str] = set().union(*(jobs[job] for job in first))
    for job in jobs.keys() - first if first else ():
        yield job, bool(jobs[job] & known)


def other_job(fleet: Fleet) -> bool:
    return any(shares for _, shares in _late_jobs(fleet))


def shard_of_another_job(fleet: Fleet) -> bool:
    return any(not shares for _, shares in _late_jobs(fleet))


def taken_over(fleet: Fleet) -> bool:
    """Another job goes on for more than an hour after the first one was sampled last."""
    others = {job for job, shares in _late_jobs(fleet) if shares}
    mine = [s.at for s in fleet.kube if s.labels.get("job", "") not in others]
    theirs = [s.at for s in fleet.kube if s.labels.get("job", "") in others]
    return any(
        b - a > HOUR and any(a + HOUR < at < b for at in theirs)
        for a, b in zip(sorted(mine), [*sorted(mine)[1:], 2**60], strict=False)
    )


def jobs_are_set(fleet: Fleet) -> bool:
    return bool(fleet.setup.jobs) and bool(set(_jobs(fleet)) - set(fleet.setup.jobs))
