"""Targets that fail: the others are read, the fault is said, and it heals by itself."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from accounting.metering.models.cluster import Cluster
from accounting.metering.models.ledger import BufferSeries
from accounting.metering.tasks import live_sources
from tests.builders import HOUR_ZERO
from tests.integration.metering.sources.conftest import Configure
from tests.integration.metering.sources.replay import Answer, Question, serving
from tests.integration.metering.support import report

pytestmark = pytest.mark.django_db(transaction=True)

LINE = 'DCGM_FI_DEV_GPU_UTIL{{UUID="GPU-{0}",Hostname="{0}"}} 50{1}\n'
FAULTS: dict[str, tuple[Answer, str]] = {
    "hanging": (Answer(is_silent=True), "no response within 0.3 s"),
    "slow": (Answer(body=b"#" * 200, drip_s=0.1), "too slow"),
    "truncated": (
        Answer(body=LINE.format("odd", "").encode(), length=999),
        "truncated",
    ),
    "401": (Answer(401), "credentials"),
    "404": (Answer(404, b"no page here"), "404 no page here"),
    "503": (Answer(503), "503"),
    "redirect": (Answer(301, b"", {"Location": "/good"}), "redirects"),
    "web page": (Answer(body=b"\n<HTML><body>Sign in</body>"), "web page"),
    "binary": (Answer(body=b"\x7fELF\0\0"), "binary"),
    "not UTF-8": (Answer(body=b"a \xff"), "not UTF-8"),
    "broken": (Answer(body=LINE.format("odd", "").encode() + b"{{{"), "line 2"),
    "future": (
        Answer(body=LINE.format("odd", f" {HOUR_ZERO + 86_400}000").encode()),
        "future",
    ),
    "no time at all": (Answer(body=LINE.format("odd", " 1e30").encode()), "future"),
    "before 1970": (Answer(body=LINE.format("odd", " -5").encode()), "1970"),
    "hexadecimal time": (
        Answer(body=LINE.format("odd", " 0x5F").encode()),
        "not a valid time",
    ),
    "seconds": (Answer(body=LINE.format("odd", f" {HOUR_ZERO}").encode()), "seconds"),
    "compressed badly": (
        Answer(body=b"not gzip", headers={"Content-Encoding": "gzip"}),
        "check the settings",
    ),
}


@dataclass
class Pair:
    """A target that is always good, and one that answers as `odd` says."""

    odd: Answer
    cluster: Cluster = field(init=False)
    address: str = ""

    def scrape(self, second: int) -> None:
        """Scrape both, so many seconds after the hour."""
        live_sources.scrape_cluster(self.cluster, lambda: (HOUR_ZERO + second) * 1000)

    def issues(self) -> list[dict[str, str]]:
        """What is said of targets."""
        return [row for row in report("issues") if row["code"] == "target_down"]


@pytest.fixture
def pair(configure: Configure) -> Iterator[Pair]:
    """Two targets of one source."""
    found = Pair(good("odd"))

    def answer(question: Question) -> Answer:
        return good("good") if question.path == "/good" else found.odd

    with serving(answer) as address:
        urls = [f"{address}/good", f"{address}/odd"]
        found.address = address
        found.cluster = configure(
            {
                "kind": "scrape",
                "targets": [{"job": "dcgm-exporter", "urls": urls}],
                "timeout_s": 0.3,
            }
        )
        yield found


def good(name: str) -> Answer:
    """One GPU, named after its target."""
    return Answer(body=LINE.format(name, "").encode())


def kept() -> set[str]:
    """The GPUs of all kept series."""
    labels = BufferSeries.objects.values_list("labels", flat=True)
    return {uuid for pairs in labels if (uuid := dict(pairs).get("UUID"))}


@pytest.mark.parametrize("name", FAULTS)
def test_failing_target_loses_only_itself(name: str, pair: Pair) -> None:
    pair.odd, words = FAULTS[name]
    pair.scrape(0)
    assert kept() == {"GPU-good"}
    [issue] = pair.issues()
    assert issue["subject"] == f"{pair.address}/odd"
    assert f"{pair.address}/odd" in issue["message"]
    assert words in issue["message"]
    source = pair.cluster.sources.get()
    assert source.last_error == issue["message"]
    assert source.last_sample_at is not None

    pair.odd = good("odd")
    pair.scrape(30)
    assert kept() == {"GPU-good", "GPU-odd"}
    source.refresh_from_db()
    assert source.last_error == ""
    pair.scrape(331)
    assert pair.issues() == [], "good for five minutes"


def test_all_targets_down_is_said_of_each(configure: Configure) -> None:
    cluster = configure(
        {
            "kind": "scrape",
            "targets": [
                {"job": "a", "urls": ["http://127.0.0.1:1/", "http://127.0.0.1:2/"]}
            ],
        }
    )
    live_sources.scrape_cluster(cluster, lambda: HOUR_ZERO * 1000)
    said = [row["message"] for row in report("issues") if row["code"] == "target_down"]
    assert len(said) == 2
    assert all("Connection refused" in message for message in said)
    assert kept() == set()
