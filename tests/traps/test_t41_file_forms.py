"""T41: files as tools write them: byte order marks, UTF-16, dumps, semicolons, odd clocks."""

import gzip
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.management import call_command

from accounting.prices.models.price import UnitPrice
from tests.builders import SETUP
from tests.integration.metering.support import report, run
from tests.traps.scene import HOUR_MS, Pod, Scene, usage

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.integration]


def text() -> str:
    """An hour of a GPU that `train` holds and half uses, as OpenMetrics."""
    told = Scene()
    told.node()
    told.pod(Pod("train"))
    told.gpu("GPU-1", 0.5)
    return told.openmetrics()


def dump() -> str:
    """The same as `promtool tsdb dump` writes it."""
    lines = []
    for line in text().splitlines():
        if not line.startswith("#"):
            head, value, at = line.rsplit(" ", 2)
            name, _, labels = head.partition("{")
            stamp = round(float(at) * 1000)
            lines.append(
                f'{{__name__="{name}", {labels.replace(",", ", ")} {value} {stamp}'
            )
    return "\n".join(lines) + "\n"


FORMS: dict[str, Callable[[], bytes]] = {
    "byte order mark": lambda: text().encode("utf-8-sig"),
    "UTF-16 of PowerShell": lambda: text().replace("\n", "\r\n").encode("utf-16"),
    "UTF-16, big end first": lambda: b"\xfe\xff" + text().encode("utf-16-be"),
    "compressed UTF-16": lambda: gzip.compress(text().encode("utf-16")),
    "promtool tsdb dump": lambda: dump().encode(),
    "dump with a byte order mark": lambda: dump().encode("utf-8-sig"),
}


@pytest.mark.parametrize("form", FORMS)
def test_t41_each_form_has_the_same_numbers(form: str, tmp_path: Path) -> None:
    (tmp_path / "setup.yaml").write_text(SETUP)
    run("configure", tmp_path / "setup.yaml")
    (tmp_path / "a.om").write_bytes(FORMS[form]())
    run("import_metrics", "--cluster=north", tmp_path / "a.om")

    row = usage("pod")["train"]
    assert (row["busy_ms"], row["allocated_ms"]) == (HOUR_MS // 2, HOUR_MS)


def refusal(*words: str | Path) -> str:
    """Why a command refuses its input."""
    said = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command(*map(str, words), stderr=said)
    assert ended.value.code == 2
    return said.getvalue()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\xff\xfea\x00\x00\xd8b\x00", "not valid UTF-16"),
        (b"a\x00b\x00", "binary data"),
        (b'{job="x"} 1 1790848800000\n', "'' is not a valid metric name"),
    ],
)
def test_t41_what_is_not_certain_is_refused(
    content: bytes, words: str, tmp_path: Path
) -> None:
    (tmp_path / "a.om").write_bytes(content)
    assert words in refusal("import_metrics", "--cluster=north", tmp_path / "a.om")


def test_t41_a_sample_of_2098_can_be_left_out(tmp_path: Path) -> None:
    future = 'up{job="kube-state-metrics",instance="kube-state:8080"} 1 4070908800\n'
    (tmp_path / "a.om").write_text(text().replace("# EOF", f"{future}# EOF"))
    said = refusal("import_metrics", "--cluster=north", tmp_path / "a.om")
    assert "is in the future" in said
    assert "--skip-future" in said
    assert report("holds") == []

    done = run("import_metrics", "--cluster=north", "--skip-future", tmp_path / "a.om")
    assert "1 samples in the future, left out" in done
    assert usage("pod")["train"]["allocated_ms"] == HOUR_MS


PRICES = {
    "semicolons and decimal commas": "model;per_gpu_hour;valid_from\nTesla T4;0,61;2026-10-01\n",
    "semicolons and points": "model;per_gpu_hour;valid_from\nTesla T4;0.61;2026-10-01\n",
    "a quoted decimal comma": 'model;per_gpu_hour;valid_from\n"Tesla T4";"0,61";2026-10-01\n',
    "commas": "model,per_gpu_hour,valid_from\nTesla T4,0.61,2026-10-01\n",
}


@pytest.mark.parametrize("form", PRICES)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_t41_price_lists_of_spreadsheets(
    form: str, encoding: str, tmp_path: Path
) -> None:
    path = tmp_path / "prices.csv"
    path.write_bytes(PRICES[form].encode(encoding))
    run("prices", "import", path, "--save", "--keep-unknown")
    price = UnitPrice.objects.get()
    assert (price.model, str(price.rate_per_gpu_hour.normalize())) == (
        "Tesla-T4",
        "0.61",
    )


def test_t41_a_list_in_utf_16_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    path.write_bytes(PRICES["commas"].encode("utf-16"))
    assert "save the file as CSV in UTF-8" in refusal("prices", "import", path)


def test_t41_columns_that_are_there_are_named(tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    path.write_text("Modell;Preis\nT4;1\n")
    assert "The columns are: Modell, Preis" in refusal("prices", "import", path)


def test_t41_a_spot_price_history_has_seconds(tmp_path: Path) -> None:
    """A price applies from the next window on in any case (N24)."""
    path = tmp_path / "prices.csv"
    path.write_text(
        "model,lifecycle,per_gpu_hour,valid_from\n"
        "Tesla T4,spot,0.2,2026-10-01T10:07:33Z\n"
        "Tesla T4,spot,0.3,2026-10-01T11:15:00Z\n"
    )
    run("prices", "import", path, "--save", "--keep-unknown")
    found = UnitPrice.objects.order_by("valid_from").values_list(
        "valid_from", flat=True
    )
    assert [f"{at:%H:%M:%S}" for at in found] == ["10:10:00", "11:15:00"]
