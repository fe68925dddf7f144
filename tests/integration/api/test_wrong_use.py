"""Wrong parameters: each a problem document that names the parameter and what is allowed."""

from typing import Any

import pytest

from accounting.kit.reads.dimensions import LEDGER_DIMENSIONS, USAGE_DIMENSIONS
from tests.integration.api.conftest import Ask, problem

# address, parameter at fault, words of the answer, what it may be
WRONG: tuple[tuple[str, str, str, list[str] | None], ...] = (
    ("usage?by=colour", "by", "'colour'", list(USAGE_DIMENSIONS)),
    ("usage?by=team,colour", "by", "'colour'", list(USAGE_DIMENSIONS)),
    ("usage?by=team%00", "by", "NUL", None),
    ("audit?actor=%00", "actor", "NUL", None),
    ("ledger?by=team", "by", "'team'", list(LEDGER_DIMENSIONS)),
    ("usage?from=yesterday", "from", "ISO 8601", None),
    ("usage?from=2026-02-30", "from", "ISO 8601", None),
    ("usage?from=2026-11-01T10:00:00", "from", "has no offset", None),
    ("usage?from=2026-11-01T10:01:00Z", "from", "five-minute boundary", None),
    ("usage?from=2026-11-01T10:00:00.001Z", "from", "five-minute boundary", None),
    ("usage?from=1969-12-31T00:00:00Z", "from", "between 1970 and 9998", None),
    ("usage?from=", "from", "ISO 8601", None),
    ("usage?to=9999-12-31", "to", "between 1970 and 9998", None),
    ("usage?to=9999-12-31T23:55:00-14:00", "to", "between 1970 and 9998", None),
    ("usage?to=0001-01-01", "to", "8", None),
    ("usage?to=0001-01-01T00:00:00%2B14:00", "to", "8", None),
    ("usage?to=%00", "to", "NUL", None),
    ("usage?from=2026-11-02&to=2026-11-01", "to", "is not later than", None),
    ("usage?from=2026-11-02&to=2026-11-02", "to", "is not later than", None),
    ("holds?to=never", "to", "ISO 8601", None),
    ("data-issues?from=1", "from", "ISO 8601", None),
    ("usage?cluster=nowhere", "cluster", "'nowhere'", ["north"]),
    ("data-issues?cluster=nowhere", "cluster", "'nowhere'", ["north"]),
    ("usage?lifecycle=sopt", "lifecycle", "'sopt'", None),
    ("usage?namespace=%00", "namespace", "NUL", None),
    ("usage?colour=red", "colour", "unknown parameter", None),
    ("usage?From=2026-11-01", "From", "unknown parameter", None),
    ("usage?from=2026-11-01&from=2026-11-02", "from", "more than once", None),
    ("holds?model=NVIDIA-L40S", "model", "unknown parameter", None),
    ("holds?by=pod", "by", "unknown parameter", None),
    ("data-issues?team=vision", "team", "unknown parameter", None),
    ("teams?slug=vision", "slug", "unknown parameter", ["limit", "cursor", "format"]),
    ("clusters?from=2026-11-01", "from", "unknown parameter", None),
    ("usage?limit=0", "limit", "1 to 5000", None),
    ("usage?limit=5001", "limit", "1 to 5000", None),
    ("usage?limit=-1", "limit", "1 to 5000", None),
    ("usage?limit=ten", "limit", "1 to 5000", None),
    ("usage?limit=²", "limit", "1 to 5000", None),
    (f"usage?limit={'9' * 5000}", "limit", "1 to 5000", None),
    ("usage?limit=5&limit=6", "limit", "more than once", None),
    ("usage?format=xml", "format", "'xml'", ["json", "csv"]),
    ("usage?columns=charge", "columns", "requires format=csv", None),
    ("usage?format=csv&columns=colour", "columns", "'colour'", None),
    ("usage?format=csv&columns=", "columns", "''", None),
    ("ledger?format=csv&columns=wall_ms", "columns", "unknown parameter", None),
    ("usage?cursor=xyz", "cursor", "not a valid cursor", None),
)


@pytest.mark.parametrize(("address", "name", "words", "allowed"), WRONG)
def test_wrong_use_names_the_parameter(
    ask: Ask, address: str, name: str, words: str, allowed: list[str] | None
) -> None:
    answer = ask("ana").get(f"/api/v1/{address}")
    assert answer.status_code == 400
    document = problem(answer)
    assert document["title"] == "Bad Request"
    [error] = document["errors"]
    assert error["parameter"] == name
    assert words in error["detail"]
    assert document["detail"] == error["detail"]
    if allowed is not None:
        assert error["allowed"] == allowed


def _rows(ask: Ask, address: str) -> list[dict[str, Any]]:
    answer = ask("ana").get(f"/api/v1/{address}")
    assert answer.status_code == 200
    rows: list[dict[str, Any]] = answer.json()["rows"]
    return rows


@pytest.mark.parametrize(
    ("filters", "dimension", "expected"),
    [
        ("team=vision", "team", {"vision"}),
        ("team=vision&team=search", "team", {"vision", "search"}),
        ("team=unmapped", "team", {"unmapped"}),
        ("namespace=scratch", "namespace", {"scratch"}),
        ("workload=serving", "workload", {"serving"}),
        ("workload_type=notebook", "workload_type", {"notebook"}),
        ("model=NVIDIA-L40S", "model", {"NVIDIA-L40S"}),
        ("lifecycle=on-demand", "lifecycle", {"on-demand"}),
        ("lifecycle=spot", "lifecycle", set()),
        ("tier=gold", "tier", set()),
        ("cluster=north", "cluster", {"north"}),
        ("pod=tts-serving-0", "pod", {"tts-serving-0"}),
        ("node=gpu-01", "node", {"gpu-01"}),
        ("gpu=GPU-5a1e0001-0000-7c3d", "gpu", {"GPU-5a1e0001-0000-7c3d"}),
        ("from=2026-11-03&to=2026-11-05", "day", {"2026-11-03", "2026-11-04"}),
        ("to=2026-10-11", "day", {"2026-10-09", "2026-10-10"}),
        ("from=2026-11-20", "day", {"2026-11-20"}),
    ],
)
def test_a_filter_keeps_its_rows_only(
    ask: Ask, filters: str, dimension: str, expected: set[str]
) -> None:
    rows = _rows(ask, f"usage?by={dimension}&{filters}")
    assert {row[dimension] for row in rows} == expected


def test_filters_work_together(ask: Ask) -> None:
    rows = _rows(
        ask, "usage?by=team,model&team=language&team=vision&model=NVIDIA-A100-SXM4-80GB"
    )
    assert {(row["team"], row["model"]) for row in rows} == {
        ("language", "NVIDIA-A100-SXM4-80GB"),
        ("vision", "NVIDIA-A100-SXM4-80GB"),
    }
    assert _rows(ask, "usage?team=vision&namespace=search-prod") == []


def test_by_may_be_repeated_or_separated_by_commas(ask: Ask) -> None:
    assert _rows(ask, "usage?by=team&by=model") == _rows(ask, "usage?by=team,model")


def test_a_day_is_a_billing_day_wherever_the_asker_is(ask: Ask) -> None:
    as_day = _rows(ask, "usage?by=team&from=2026-11-18&to=2026-11-19")
    berlin = "from=2026-11-18T00:00:00%2B01:00&to=2026-11-19T00:00:00%2B01:00"
    utc = "from=2026-11-17T23:00:00Z&to=2026-11-18T23:00:00Z"
    assert as_day
    assert as_day == _rows(ask, f"usage?by=team&{berlin}")
    assert as_day == _rows(ask, f"usage?by=team&{utc}")


def test_a_form_that_is_not_offered(ask: Ask) -> None:
    answer = ask("ana").get("/api/v1/usage", headers={"Accept": "image/png"})
    assert answer.status_code == 406
    problem(answer)
