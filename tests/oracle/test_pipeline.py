"""Random fleets from exposition text to the database, against the oracle.

Aspects: one file; files in any order and cut, twice; two workers; a kill at each named
failpoint. Times to the millisecond, flags and holds. Not here: what values alone can show
(test_domain, test_shapes).
"""

import io
import signal
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from django.core.management import call_command
from hypothesis import HealthCheck, Phase, given, settings

from accounting.failpoints import NAMES
from tests.integration.faults.support import environment, process, started, unfinished
from tests.oracle.comparison import CLUSTER, differences, imported, start, write
from tests.oracle.fleets import scrape
from tests.oracle.ledger import Ledger, ledger
from tests.oracle.oracle import settled
from tests.oracle.pieces import cut, pieces
from tests.oracle.plans import NodePlan, Plan, PodPlan, plans
from tests.oracle.samples import Sample

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(600)]

FEW = settings(deadline=None, suppress_health_check=list(HealthCheck))
# A process takes seconds: what fails is reported as it is, without a search for less.
AS_DRAWN = settings(FEW, phases=[Phase.explicit, Phase.reuse, Phase.generate])


def files(parts: Sequence[Sequence[Sample]], folder: str) -> list[Path]:
    """The parts as files, in their order."""
    return [write(part, Path(folder) / f"{n}.om") for n, part in enumerate(parts)]


def agrees(book: Ledger) -> None:
    """The database says what the oracle says, its invariants hold and nothing is due."""
    assert differences(book) == []
    assert unfinished() == []
    call_command("verify", stdout=io.StringIO())


@settings(FEW, max_examples=25)
@given(plans())
def test_one_file(plan: Plan) -> None:
    """A fleet in one file."""
    samples, book = settled(plan)
    start(plan.interval)
    with tempfile.TemporaryDirectory() as folder:
        imported(files([samples], folder))
    agrees(book)


@settings(FEW, max_examples=15)
@given(plans(is_shaped=True), pieces())
def test_divided_and_shared_gpus(plan: Plan, how: tuple[str, int]) -> None:
    """A fleet of any shape, in one file and then again in pieces."""
    samples, book = settled(plan)
    with tempfile.TemporaryDirectory() as folder:
        for parts in ([samples], cut(samples, how)):
            start(plan.interval)
            for path in files(parts, folder):
                imported([path])
            agrees(book)


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
        kube_step=30,
        kube_replicas=1,
        kube_outages=(),
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
    start(None)
    with tempfile.TemporaryDirectory() as folder:
        for path in files(parts, folder):
            imported([path])
    agrees(ledger(samples))


@settings(FEW, max_examples=25)
@given(plans(), pieces())
def test_files_in_any_order_and_again(plan: Plan, how: tuple[str, int]) -> None:
    """The ledger is that of all samples together, however they came."""
    samples, book = settled(plan)
    start(plan.interval)
    with tempfile.TemporaryDirectory() as folder:
        paths = files(cut(samples, how), folder)
        for path in paths:
            imported([path])
        imported(paths[:1])
    agrees(book)


@pytest.mark.redis
@settings(AS_DRAWN, max_examples=3)
@given(plan=plans(), how=pieces())
def test_two_workers(redis_url: str, plan: Plan, how: tuple[str, int]) -> None:
    """Files imported by processes beside each other."""
    samples, book = settled(plan)
    start(plan.interval)
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
    start(plan.interval)
    with tempfile.TemporaryDirectory() as folder:
        for path in files(cut(samples, how), folder):
            words = ("import_metrics", f"--cluster={CLUSTER}", path)
            done = process(environment(redis_url, failpoint), *words)
            assert done.returncode in {0, -signal.SIGKILL}, done.stderr
            imported([path])
    agrees(book)
