"""Fleets from exposition text to the database, against the oracle.

Aspects: two workers; a kill at each named failpoint; what once was wrong. Times to the
millisecond, flags and holds. Not here: files in any order (test_fleets); what values alone
can show (test_domain, test_shapes).
"""

import signal
import tempfile
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from accounting.kit.failpoints import NAMES
from tests.integration.faults.support import environment, process, started
from tests.oracle.comparison import CLUSTER, files, imported, none_of, start, wrong
from tests.oracle.draws import plans
from tests.oracle.fleets import scrape
from tests.oracle.ledger import Ledger, ledger
from tests.oracle.oracle import settled
from tests.oracle.pieces import cut, pieces
from tests.oracle.plans import KubePlan, NodePlan, Plan, PodPlan
from tests.oracle.samples import Sample
from tests.oracle.seeds import fleet_of
from tests.oracle.setup import PLAIN
from tests.oracle.tiny import every, node, pod

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(600)]

FEW = settings(deadline=None, suppress_health_check=list(HealthCheck))
# A process takes seconds: what fails is reported as it is, without a search for less.
AS_DRAWN = settings(FEW, phases=[Phase.explicit, Phase.reuse, Phase.generate])


def agrees(book: Ledger) -> None:
    """The database says what the oracle says, its invariants hold and nothing is due."""
    none_of(wrong(book))


def test_a_later_file_decides_which_gpu_a_hold_has() -> None:
    """A GPU swapped in has more samples in the end: earlier windows are computed again."""
    node = NodePlan(
        gpus=1,
        step=30,
        metrics="engine",
        naming="plain",
        replicas=1,
        silent_until=0,
        swap=1247,
        restart=None,
        gone=None,
        outage=None,
    )
    pod = PodPlan("train", "uid-0", 0, 1, bound=634, end=None, how="gone", labels="all")
    plan = Plan(
        length=2400,
        offset=0,
        nodes=(node,),
        pods=(pod,),
        move=None,
        kube=KubePlan(),
        has_kube=True,
        lost=0,
        jitter=0,
        odd=0,
        twice=0,
        seed=0,
        interval=None,
    )
    samples = scrape(plan)
    middle = min(sample.at for sample in samples) + 1_600_000
    parts = [
        [sample for sample in samples if sample.at < middle],
        [sample for sample in samples if sample.at >= middle],
    ]
    agree_in_this_order(parts)


def test_an_older_file_tells_the_step_after_a_gap() -> None:
    """kube-state is scraped every minute, and from time to time only twice in two hours.

    Two samples have no step of their own (N4): 30 s, until the oldest file says 60 s. Then the
    second of them is valid until a minute later, and the node's free GPU is not dark.
    """
    spans = ((0, 600), (7200, 7260), (14400, 14460), (21600, 22200))
    parts = [
        node("n1", 2, times) + pod("train", "n1", times, bound=0)
        for times in (every(60, *span) for span in spans)
    ]
    agree_in_this_order(parts[::-1])
    agree_in_this_order([parts[2], parts[1], parts[3], parts[0]])


@pytest.mark.parametrize("number", [702906])
def test_a_fleet_that_once_was_wrong(number: int) -> None:
    """As test_fleets draws it: its files, newest first."""
    samples = scrape(fleet_of(number))
    agree_in_this_order(cut(samples, ("newest first", number)))


def agree_in_this_order(parts: Sequence[Sequence[Sample]]) -> None:
    """Files one after the other, without any setup."""
    start(PLAIN)
    with tempfile.TemporaryDirectory() as folder:
        for path in files(parts, folder):
            imported([path])
    agrees(ledger([sample for part in parts for sample in part]))


@pytest.mark.redis
@settings(AS_DRAWN, max_examples=3)
@given(plan=plans(), how=pieces())
def test_two_workers(redis_url: str, plan: Plan, how: tuple[str, int]) -> None:
    """Files imported by processes beside each other."""
    samples, book = settled(plan)
    start(plan.setup)
    with tempfile.TemporaryDirectory() as folder:
        paths = files(cut(samples, how), folder)
        seen = environment(redis_url)
        words = ("import_metrics", f"--cluster={CLUSTER}")
        with started(seen, *words, *paths) as one:
            other = process(seen, *words, *reversed(paths))
            assert other.returncode == 0, other.stderr
            assert one.wait(timeout=120) == 0
    agrees(book)


@pytest.mark.redis
@pytest.mark.parametrize("failpoint", NAMES)
@settings(AS_DRAWN, max_examples=1)
@given(plan=plans(), how=pieces())
def test_a_kill(
    redis_url: str, failpoint: str, plan: Plan, how: tuple[str, int]
) -> None:
    """Killed on the way, then run again."""
    samples, book = settled(plan)
    start(plan.setup)
    with tempfile.TemporaryDirectory() as folder:
        for path in files(cut(samples, how), folder):
            words = ("import_metrics", f"--cluster={CLUSTER}", path)
            done = process(environment(redis_url, failpoint), *words)
            assert done.returncode in {0, -signal.SIGKILL}, done.stderr
            imported([path])
    agrees(book)
