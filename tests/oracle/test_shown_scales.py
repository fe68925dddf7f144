"""Windows of only 0 and 1 under a name of whole percentages, by hand and in any pieces (N8).

The oracle and the domain must both say the numbers, and the database the same in whatever files
and order the samples come: a scraper is known better later.
"""

import tempfile
from itertools import permutations

import pytest

from tests.oracle.both import both
from tests.oracle.comparison import files, imported, none_of, start, wrong
from tests.oracle.ledger import ledger
from tests.oracle.samples import UTIL, WINDOW, Sample
from tests.oracle.setup import PLAIN, Setup
from tests.oracle.tiny import every, gpu, ms, node, states

LATER = every(30, 300, 570)  # the second window
BOTH = every(30, 0, 570)


def shown(first: list[float], later: list[float], by: str = "d0") -> list[Sample]:
    """A GPU with values in turn in the first window, and others in the second one."""
    found = node("n1", 1, BOTH)
    for at in BOTH:
        values = first if at < 300 else later
        value = values[at // 30 % len(values)]
        found += gpu("GPU-a", "n1", [at], value, {"instance": by}, UTIL)
    return found


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ([0.5], {"free": "300", "stray": "300"}),  # ratios: 150, and half of 300 s
        ([0.5, *[1.0] * 9], {"free": "600"}),  # a single fraction is no scale
        ([50.0], {"free": "448.5", "stray": "151.5"}),  # percent: 1 % of half of it
        ([12.5], {"free": "561", "stray": "39"}),
        ([0.5, 50.0], {"free": "600"}),  # both
        ([0.5, 12.5], {"free": "579", "stray": "21"}),  # averages
        ([0.5, 250.0], {"free": "300", "stray": "300"}),  # 250 is no data, nor a scale
        ([1.0, 0.0], {"free": "600"}),  # nobody knows better: no data
    ],
)
def test_what_a_scraper_shows_at_another_time_decides(
    first: list[float], expected: dict[str, str]
) -> None:
    assert states(both(shown(first, [1, 0]))) == expected


def beside(first: list[float], later: float = 0) -> list[Sample]:
    """A GPU of 0 and 1 alone, and the values of another scraper in the first window."""
    samples = shown([1, 0], [1, 0]) + node("n2", 1, BOTH)
    for at in BOTH:
        value = first[at // 30 % len(first)] if at < 300 else later
        samples += gpu("GPU-b", "n2", [at], value, {"instance": "d1"}, UTIL)
    return samples


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ([0.5], {"free": "300", "stray": "300"}),  # ratios
        ([0.5, *[1.0] * 9], {"free": "600"}),  # a single fraction is no scale
        ([50.0], {"free": "597", "stray": "3"}),  # percent
        ([0.5, 12.5], {"free": "597", "stray": "3"}),  # averages of it
        ([0.5, 50.0], {"free": "600"}),  # both
        ([0.0, 1.0], {"free": "600"}),  # nobody knows
    ],
)
def test_others_decide_for_a_scraper_of_only_0_and_1(
    first: list[float], expected: dict[str, str]
) -> None:
    assert states(both(beside(first)), "GPU-a") == expected


def test_what_others_showed_does_not_decide_for_who_showed_more() -> None:
    book = both(beside([0.5], later=1))
    assert states(book, "GPU-b") == {"free": "150", "stray": "450"}
    samples = beside([50.0]) + node("n3", 1, BOTH)
    samples += gpu("GPU-c", "n3", every(30, 0, 270), 0.5, {"instance": "d2"}, UTIL)
    samples += gpu("GPU-c", "n3", LATER, 1, {"instance": "d2"}, UTIL)
    book = both(samples)
    assert states(book, "GPU-a") == {"free": "600"}  # two scales in the cluster
    assert states(book, "GPU-c") == {"free": "300", "stray": "300"}


@pytest.mark.parametrize(("other", "busy"), [(50, "150"), (12.5, "37.5")])
def test_percent_of_another_scraper_makes_doubtful(other: float, busy: str) -> None:
    """Like fractions beside it: who is quiet in a fleet of averages shows no more."""
    samples = shown([0.5], [1])
    samples += node("n2", 1, BOTH)
    samples += gpu("GPU-b", "n2", LATER, other, {"instance": "d1"}, UTIL)
    book = both(samples)
    assert states(book, "GPU-a") == {"free": "450", "stray": "150"}
    assert states(book, "GPU-b")["stray"] == busy


def test_percent_of_a_scraper_is_percent_among_ratios_of_another() -> None:
    samples = shown([50], [1])
    samples += node("n2", 1, BOTH)
    samples += gpu("GPU-b", "n2", LATER, 0.5, {"instance": "d1"}, UTIL)
    book = both(samples)
    assert states(book, "GPU-a") == {"free": "447", "stray": "153"}
    assert states(book, "GPU-b") == {"free": "150", "stray": "150"}


def test_a_sample_that_another_one_replaces_shows_nothing() -> None:
    """N2: 0.5 counts, and 50 of the same millisecond does not."""
    samples = shown([0.5], [1])
    samples += gpu("GPU-a", "n1", [30], 50, {"instance": "d0"}, UTIL)
    assert states(both(samples)) == {"free": "150", "stray": "450"}


def test_a_declared_name_is_what_is_declared() -> None:
    book = both(shown([0.5], [1]), Setup(scales={UTIL: "percent"}))
    assert states(book) == {"free": "595.5", "stray": "4.5"}


# --- in pieces -----------------------------------------------------------------------


def an_hour() -> list[Sample]:
    """Five nodes, of whose scrapers the first quarter of an hour says nothing by itself."""
    quarters = {
        "ratios": (1, 0.97, 1, 0.97),
        "both": (1, 0.97, 50, 1),
        "averages": (1, 0.97, 12.5, 1),
        "percent": (1, 1, 50, 1),
        "only_ones": (1, 0, 1, 1),
    }
    found: list[Sample] = []
    times = every(30, 0, 3570)
    for n, (kind, values) in enumerate(quarters.items()):
        found += node(f"n{n}", 1, times)
        for at in times:
            by = {"instance": kind}
            found += gpu(f"GPU-{kind}", f"n{n}", [at], values[at // 900], by, UTIL)
    return found


def test_the_first_quarter_is_read_by_what_came_later() -> None:
    first = [s for s in both(an_hour()).facts.items() if s[0][0] < ms(900)]
    busy = {
        kind: sum(fact.states[5] for key, fact in first if key[1] == f"GPU-{kind}")
        for kind in ("ratios", "both", "averages", "percent", "only_ones")
    }
    expected = {"ratios": 900_000, "both": 0, "averages": 9_000, "percent": 9_000}
    expected["only_ones"] = 0  # the others show two scales
    assert busy == expected


def part(samples: list[Sample], low: int, high: int) -> list[Sample]:
    return [s for s in samples if ms(low) <= s.at < ms(high)]


@pytest.mark.django_db(transaction=True)
@pytest.mark.timeout(600)
@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_pieces_in_any_order_give_the_same_ledger(order: tuple[int, ...]) -> None:
    """Cut within windows: what is computed first is computed again when more is known."""
    samples, cuts = an_hour(), (0, 1015, 2210, 3600)
    parts = [part(samples, cuts[n], cuts[n + 1]) for n in order]
    start(PLAIN)
    with tempfile.TemporaryDirectory() as folder:
        for path in files(parts, folder):
            imported([path])
    none_of(wrong(ledger(samples)))


@pytest.mark.django_db(transaction=True)
@pytest.mark.timeout(600)
def test_scrape_by_window_gives_the_same_ledger() -> None:
    samples = an_hour()
    step = WINDOW // 1000
    parts = [part(samples, at, at + step) for at in range(0, 3600, step)]
    start(PLAIN)
    with tempfile.TemporaryDirectory() as folder:
        for path in files(parts[::-1], folder):
            imported([path])
    none_of(wrong(ledger(samples)))
