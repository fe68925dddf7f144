"""`configure` with a wrong file: each fault by file and line, nothing written, code 2.

Not here: settings of sources (tests/integration/metering/sources/test_source_settings.py).
"""

import re
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from accounting.access.models.teams import Binding, Team
from accounting.prices.models.price import UnitPrice
from accounting.setup.tasks.yaml_lines import DocumentError, parse
from tests.integration.commands.conftest import Configure, database, run
from tests.integration.commands.wrong_setups import GOOD, WRONG, at, price, team


@pytest.mark.parametrize("name", WRONG)
def test_a_fault_is_named_by_file_and_line_and_nothing_is_written(
    configure: Configure, name: str
) -> None:
    (content, line), words = WRONG[name]
    before = database()
    for options in ((), ("--check",)):
        ended = configure(content, *options)
        assert ended.code == 2
        assert ended.out == ""
        found = re.findall(r"^\S+s\.yaml: line (\d+): (.+)$", ended.err, re.MULTILINE)
        assert len(found) == len(ended.err.splitlines()), ended.err
        assert any(int(at) == line and words in text for at, text in found), ended.err
    assert database() == before


def test_an_alias_of_a_wrong_value_has_the_fault_of_the_value() -> None:
    """The parser remembers a value that failed, and took its alias for a recursion."""
    with pytest.raises(DocumentError) as refused:
        parse("first: &day 2026-13-01\nsecond: *day\n")
    texts = {one.message for one in refused.value.faults}
    assert texts == {"not a value: month must be in 1..12"}


def test_the_good_file_is_good(configure: Configure) -> None:
    """Else every test above might fail for another reason."""
    assert configure(GOOD).code == 0


def test_every_fault_is_named_at_once_in_their_order(configure: Configure) -> None:
    content = (
        GOOD.replace("EUR", "EUX")
        .replace("slug: vision", "slug: a b")
        .replace("2.10", "-1")
    )
    ended = configure(content)
    lines = [int(n) for n in re.findall(r"line (\d+):", ended.err)]
    assert lines == [2, 7, 11, 14]  # the rule's team is not there either


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"teams: []\n\xff\xfe: 1\n", 2),
        (bytes(range(256)), 2),
        (GOOD.encode("utf-16"), 1),
        (b"\x1f\x8b\x08\x00" + bytes(range(128, 256)), 1),
        (b"name: gr\xfc\xdfe\n", 1),
    ],
    ids=["bytes in line 2", "all bytes", "utf-16", "gzip", "latin-1"],
)
def test_a_file_that_is_no_text_is_named(
    configure: Configure, data: bytes, line: int
) -> None:
    before = database()
    ended = configure(data)
    assert (ended.code, ended.out) == (2, "")
    assert f"s.yaml: line {line}: not UTF-8 text; save the file as UTF-8" in ended.err
    assert database() == before


def test_a_byte_order_mark_is_no_fault(configure: Configure) -> None:
    assert configure(b"\xef\xbb\xbf" + GOOD.encode()).code == 0


def test_a_file_that_is_not_there_is_named(db: None, tmp_path: Path) -> None:
    for path in (tmp_path / "none.yaml", tmp_path):
        ended = run("configure", str(path))
        assert ended.code == 2
        assert str(path) in ended.err
        assert ended.err.count("\n") == 1


BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{this}: &{this} [{', '.join([f'*{last}'] * 10)}]\n"
    for last, this in zip("abcdefgh", "bcdefghi", strict=True)
)


def test_aliases_that_stand_for_a_billion_values_are_refused_at_once(
    configure: Configure,
) -> None:
    started = time.monotonic()
    ended = configure(BOMB)
    assert time.monotonic() - started < 20
    assert ended.code == 2
    assert "more than 200000 values; do not nest aliases" in ended.err
    assert re.search(r"line \d+", ended.err)


def test_an_alias_may_stand_for_what_is_written_once(configure: Configure) -> None:
    content = GOOD.replace('"2.10"', '&rate "2.10"')
    content = content.replace(
        "labels:", "  - {model: NVIDIA-A10, rate_per_gpu_hour: *rate}\nlabels:"
    )
    assert "2 prices" in configure(content).out


def test_numbers_are_kept_as_they_are_written(configure: Configure) -> None:
    """0100 is a cost centre: YAML 1.1 would make 64 of it."""
    for written in ("0100", "007", "1_000", "0x1F", "12:30", "1e3", "100"):
        content, _ = team(f"cost_centre: {written}")
        configure(content)
        assert Team.objects.get().cost_centre == written


def test_a_price_says_where_it_comes_from(configure: Configure) -> None:
    content, _ = price("source: Contract 4711")
    configure(content)
    assert UnitPrice.objects.get().source_note == "Contract 4711"


def test_a_date_is_midnight_in_the_billing_time_zone(configure: Configure) -> None:
    """Of the file, and where it says nothing of bills, of those in force."""
    dated, _ = price("valid_from: 2026-10-01")
    configure(dated)
    first = database()["accounting_unitprice"]
    assert UnitPrice.objects.get().valid_from == datetime(2026, 9, 30, 22, tzinfo=UTC)
    without = dated.split("clusters:", 1)[1]
    assert configure("clusters:" + without).out == "no changes\n"
    assert database()["accounting_unitprice"] == first


def test_a_second_run_writes_nothing(configure: Configure) -> None:
    full = GOOD.replace("    name: Vision", "    name: Vision\n    leads: [ana, luis]")
    full = full.replace(
        "  - name: north",
        "  - name: north\n    kubernetes: {reader: {kubeconfig: /etc/kube, context: a}}\n"
        "    sources:\n      - {kind: prometheus, url: 'http://prom:9090', interval: 30}",
    )
    assert "changed: team vision" in configure(full).out
    before = database()
    for _ in range(2):
        ended = configure(full)
        assert (ended.code, ended.out, ended.err) == (0, "no changes\n", "")
    assert database() == before  # history events too
    # the same things written in another way are the same
    other = full.replace('"2.10"', "2.1").replace("NVIDIA-L40S", "NVIDIA L40S")
    assert configure(other).out == "no changes\n"
    assert database() == before


def test_a_check_of_a_good_file_writes_nothing(configure: Configure) -> None:
    before = database()
    ended = configure(GOOD, "--check")
    assert (ended.code, ended.err) == (0, "")
    assert "is valid" in ended.out
    assert database() == before


def test_a_change_touches_only_what_differs(configure: Configure) -> None:
    two = GOOD.replace(
        "labels:", "  - {model: NVIDIA-A10, rate_per_gpu_hour: '1'}\nlabels:"
    )
    configure(two)
    before = database()
    ended = configure(two.replace("'1'", "'1.5'"))
    assert ended.out == "changed: 2 prices\n"
    after = database()
    differing = {table for table in after if after[table] != before[table]}
    assert differing == {
        "accounting_unitprice",
        "accounting_unitpriceevent",
        "pghistory_context",
    }
    kept = set(before["accounting_unitprice"]) & set(after["accounting_unitprice"])
    assert len(kept) == 1


def test_sections_that_are_left_out_stay(configure: Configure) -> None:
    configure(GOOD)
    before = database()
    assert configure("teams: [{slug: vision, name: Vision}]\n").code == 0
    assert configure("labels: {}\n").out == "no changes\n"
    assert database() == before


def test_an_empty_list_has_none(configure: Configure) -> None:
    configure(GOOD)
    assert configure("bindings: []\nprices: []\n").code == 0
    assert database()["accounting_binding"] == []
    assert database()["accounting_unitprice"] == []


def test_a_rule_may_name_a_team_of_before(configure: Configure) -> None:
    configure(GOOD)
    ended = configure("bindings: [{namespace: other, team: vision}]\n")
    assert (ended.code, ended.out) == (0, "changed: 1 bindings\n")


def test_rules_of_one_kind_follow_each_other_in_time(configure: Configure) -> None:
    """Dates may not overlap: a rule ends where the next of its kind begins."""
    more = ("  - namespace: vision", "    team: vision", "    valid_from: 2026-10-01")
    later, _ = at(11, "    team: vision", *more)
    configure(later)
    first, second = Binding.objects.order_by("pk")
    border = datetime(2026, 9, 30, 22, tzinfo=UTC)
    assert (first.valid_to, second.valid_from, second.valid_to) == (
        border,
        border,
        None,
    )


def test_a_large_file_is_read_in_reasonable_time(configure: Configure) -> None:
    rules = "".join(
        f"  - {{namespace: space-{n}, team: vision}}\n" for n in range(2000)
    )
    started = time.monotonic()
    ended = configure(GOOD.replace("bindings:\n", f"bindings:\n{rules}"), "--check")
    assert ended.code == 0
    assert time.monotonic() - started < 30


def test_a_price_that_is_probably_a_mistake_is_said_once(configure: Configure) -> None:
    """Compared with the price that the file had before, and with those of the file."""
    configure(GOOD)
    mistake = GOOD.replace('"2.10"', '"210"')
    ended = configure(mistake)
    assert ended.code == 0
    assert (
        "warning: rate of NVIDIA-L40S from 1970-01-01: The price is more than 10 times the "
        "price before it (EUR 2.1)."
    ) in ended.err
    assert "warning" not in configure(mistake).err
    tier = "  - {model: NVIDIA-L40S, tier: low, rate_per_gpu_hour: 0}\nlabels:"
    assert "The price is 0" in configure(GOOD.replace("labels:", tier)).err
