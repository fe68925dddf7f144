"""Workers that close a requested month and are killed, or that are two (money.md M28).

Not here: closes in the foreground (test_close_killed.py), and what becomes of a request otherwise
(tests/integration/months/test_close_requests.py).
"""

import signal
import threading
from datetime import date, timedelta
from pathlib import Path

import pytest
from django.db import connection

from accounting.kit.failpoints import CLOSE_NAMES
from accounting.kit.reads.database_clock import database_now
from accounting.months.actions import close_requests
from accounting.months.actions.close_requests import CloseRequested, request_close
from accounting.months.models.charge import ChargeLine
from accounting.months.models.close_request import CloseRequest
from accounting.months.models.period import PeriodRevision
from accounting.months.reads.close_requests import CloseState, close_progress
from accounting.tasks import close_months
from tests.integration.faults.forks import Running, Warm, warm
from tests.integration.faults.support import environment
from tests.integration.months.days import H100, Days
from tests.integration.months.people import person

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.redis,
    pytest.mark.timeout(180),
]

HOUR = 3_600_000
WORKER = "from accounting.tasks import close_months; close_months()"


@pytest.fixture(autouse=True)
def october(db: None) -> Days:
    """Usage of two teams in October."""
    del db
    days = Days()
    days.price(H100, "1")
    days.use("vision", date(2026, 10, 5), HOUR)
    days.use("search", date(2026, 10, 5), 1_234_567, state="idle")
    return days


@pytest.fixture
def workers(redis_url: str) -> Warm:
    """Starts processes that do what a worker does with the task `close_months`."""
    return warm(environment(redis_url))


def worker(workers: Warm, failpoint: str = "") -> Running:
    return workers.start("shell", "--no-imports", "-c", WORKER, failpoint=failpoint)


def ended(workers: Warm, process: Running) -> int:
    found = workers.wait(process)
    assert found.returncode in (0, -signal.SIGKILL), found.stderr
    return found.returncode


def wait_for(attempt: int) -> None:
    """Until a worker has claimed the request."""
    for _ in range(300):
        if CloseRequest.objects.get().attempt == attempt:
            return
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(0.1)")
    raise AssertionError("no worker claims it")


def claims_are_old() -> None:
    """As if the workers had claimed their requests a while ago."""
    old = database_now() - timedelta(minutes=1)
    CloseRequest.objects.update(started_at=old)


@pytest.mark.parametrize("failpoint", ["close_claimed", *CLOSE_NAMES])
def test_a_killed_worker_s_close_is_done_by_the_next(
    failpoint: str, workers: Warm
) -> None:
    request_close("2026-10", person("anna"))
    assert ended(workers, worker(workers, failpoint)) == -signal.SIGKILL
    found = close_progress("2026-10")
    assert (found.state, found.attempt) == (CloseState.RUNNING, 1)
    assert not ChargeLine.objects.exists()
    claims_are_old()
    close_months()
    found = close_progress("2026-10")
    assert (found.state, found.attempt) == (CloseState.CLOSED, 2)
    row = PeriodRevision.objects.get(period="2026-10")
    assert ChargeLine.objects.count() == row.line_count > 0


def test_a_worker_killed_before_it_stores_a_refusal_is_followed_by_another(
    workers: Warm, october: Days
) -> None:
    october.use("vision", date(2026, 10, 6), HOUR, model="NVIDIA-A10")  # no price
    request_close("2026-10", person("anna"))
    assert ended(workers, worker(workers, "close_refused")) == -signal.SIGKILL
    assert close_progress("2026-10").state is CloseState.RUNNING
    claims_are_old()
    close_months()
    found = close_progress("2026-10")
    assert (found.state, found.attempt) == (CloseState.REFUSED, 2)
    assert [one["code"] for one in found.blocking] == ["unpriced"]


def test_a_close_that_runs_is_neither_taken_nor_requested_again(
    workers: Warm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = tmp_path / "go"
    request_close("2026-10", person("anna"))
    first = worker(workers, f"period_stored:until:{go}")
    try:
        wait_for(1)
        wait_for_lock()
        monkeypatch.setattr(close_requests, "CLAIMED", timedelta(0))
        close_months()  # a second worker finds nothing to do
        with pytest.raises(CloseRequested):
            request_close("2026-10", person("ben"))
        assert close_progress("2026-10").state is CloseState.RUNNING
    finally:
        go.touch()
        assert ended(workers, first) == 0
    found = close_progress("2026-10")
    assert (found.state, found.attempt) == (CloseState.CLOSED, 1)


def wait_for_lock() -> None:
    """Until the worker has computed the month: it holds its request."""
    for _ in range(300):
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_locks WHERE granted AND mode = 'ShareLock' "
                "AND relation = 'usage_day'::regclass"
            )
            if cursor.fetchone()[0]:
                return
            cursor.execute("SELECT pg_sleep(0.1)")
    raise AssertionError("no close holds usage")


def test_of_two_requests_at_once_one_is_refused() -> None:
    people = [person("anna"), person("ben")]
    start = threading.Barrier(len(people))
    refused: list[str] = []

    def ask(number: int) -> None:
        start.wait()
        try:
            request_close("2026-10", people[number])
        except CloseRequested as error:
            refused.append(str(error))
        finally:
            connection.close()

    threads = [threading.Thread(target=ask, args=(one,)) for one in range(len(people))]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(refused) == 1
    assert CloseRequest.objects.count() == 1
    close_months()
    assert close_progress("2026-10").state is CloseState.CLOSED


def test_two_workers_at_once_close_it_once(workers: Warm) -> None:
    request_close("2026-10", person("anna"))
    both = [worker(workers), worker(workers)]
    assert [ended(workers, one) for one in both] == [0, 0]
    found = close_progress("2026-10")
    assert (found.state, found.attempt) == (CloseState.CLOSED, 1)
