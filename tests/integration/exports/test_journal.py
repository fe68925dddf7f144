"""The journal of a month: what SAP and NetSuite would read, and what all revisions come to.

Each column map of the documents is set up from its file, and the rows are read back.
"""

from collections import Counter
from csv import DictReader
from datetime import date
from decimal import Decimal
from io import BytesIO, StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client
from openpyxl import load_workbook

from accounting.access.models.people import OrganizationRole
from accounting.access.models.teams import Team
from accounting.exports.models import JournalSettings
from accounting.exports.rules.journal import JournalPayer, to_post
from accounting.exports.sql.file_tables import What
from accounting.exports.tasks.request import ExportError, ExportRequest, Format
from accounting.exports.tasks.stream import stream
from accounting.months.models.period import Statement
from accounting.months.tasks.close import close_period, reopen_period
from accounting.months.tasks.running import book_running
from accounting.setup.tasks.apply import apply_configuration
from accounting.setup.tasks.schema import read_configuration
from accounting.setup.tasks.yaml_lines import DocumentError
from tests.integration.months.days import H100, Days
from tests.integration.months.people import person

EXAMPLES = Path(__file__).parents[3] / "docs/example"
HOUR = 3_600_000
SIGNED = "{name: A, field: account}, {name: B, field: signed_amount}"
OCTOBER = "2026-10"
ON = date(2026, 10, 5)
EXTRA = """journal:
  expense_account: "1"
  recovery_account: "2"
  columns: [{columns}]
"""


@pytest.fixture
def october(days: Days) -> Days:
    """Two teams with amounts, one with a credit that exceeds its time, and one without anything."""
    days.price(H100, "1.37")
    for slug, center in (("vision", "R-4110"), ("search", "P-2010"), ("nlp", "R-1")):
        Team.objects.create(
            slug=slug, name=slug.title(), department="Research", cost_centre=center
        )
    days.use("vision", ON, 7 * HOUR)
    days.use("search", ON, HOUR // 7)
    days.use("", ON, 20 * HOUR, state="free")
    days.enter("E-1", "search", ON, "-33.10")
    return days


def set_up(name: str) -> None:
    """Apply an example of the documents."""
    text = (EXAMPLES / f"journal-{name}.yaml").read_text()
    apply_configuration(read_configuration(text), actor="test")


def rows_of(
    revision: int | None = None, team: str | None = None
) -> list[dict[str, str]]:
    """The rows of the journal of October as CSV."""
    asked = ExportRequest(What.JOURNAL, OCTOBER, team=team, revision=revision)
    text = b"".join(stream(asked)).decode()
    return list(DictReader(StringIO(text)))


def payables(revision: int) -> dict[str, Decimal]:
    """What teams pay by a revision; 0 has no lines."""
    found = Statement.objects.filter(
        revision__period=OCTOBER, revision__revision=revision
    ).exclude(team__in=["platform", "unmapped"])
    return {
        team: payable
        for team, payable in found.values_list("team", "payable")
        if payable
    }


def test_sap_reads_one_amount_with_posting_keys(october: Days) -> None:
    del october
    set_up("sap")
    close_period(OCTOBER)
    rows = rows_of()
    vision = payables(1)["vision"]
    assert vision > 0 > payables(1)["search"]
    assert rows[2:] == [
        {
            "BUKRS": "1000",
            "BLART": "SA",
            "BUDAT": "20261031",
            "WAERS": "EUR",
            "XBLNR": "2026-10-r1",
            "BUZEI": "3",
            "BSCHL": "40",
            "HKONT": "0000620100",
            "WRBTR": f"{vision}",
            "KOSTL": "R-4110",
            "ZUONR": "vision",
            "SGTXT": "GPU time 2026-10 Vision",
        },
        {
            **rows[2],
            "BUZEI": "4",
            "BSCHL": "50",
            "HKONT": "0000629100",
            "KOSTL": "0000010000",
        },
    ]
    credited = rows[:2]  # the credit is larger than the charge: sides are swapped
    assert [one["BSCHL"] for one in credited] == ["50", "40"]
    assert [one["KOSTL"] for one in credited] == ["P-2010", "0000010000"]
    assert {one["WRBTR"] for one in credited} == {f"{-payables(1)['search']}"}
    sides = Counter[str]()
    for one in rows:
        sides[one["BSCHL"]] += Decimal(one["WRBTR"])  # type: ignore[assignment]
    assert sides["40"] == sides["50"] > 0


def test_netsuite_reads_debit_and_credit_in_two_columns(october: Days) -> None:
    del october
    set_up("netsuite")
    close_period(OCTOBER)
    rows = rows_of()
    assert {one["Date"] for one in rows} == {"10/31/2026"}
    assert rows[2]["Memo"] == "GPU time 2026-10, Vision (2026-10-r1)"
    assert (rows[2]["Class"], rows[3]["Class"]) == ("R-4110", "Platform")
    assert (rows[2]["Department"], rows[3]["Department"]) == (
        "Research",
        "Infrastructure",
    )
    debit, credit = (
        [Decimal(one[side] or 0) for one in rows] for side in ("Debit", "Credit")
    )
    assert sum(debit) == sum(credit)
    assert all(bool(a) != bool(b) for a, b in zip(debit, credit, strict=True))
    by_team = [a - b for a, b in zip(debit, credit, strict=True)][::2]
    assert by_team == [payables(1)["search"], payables(1)["vision"]]


def test_all_revisions_together_come_to_the_last_one(october: Days) -> None:
    set_up("netsuite")
    close_period(OCTOBER)
    posted = balances(rows_of())
    ana, fin = (
        person("ana", OrganizationRole.ADMIN),
        person("fin", OrganizationRole.FINANCE),
    )
    for number, amount in ((2, "-1.23"), (3, "100.00")):
        reopen_period(OCTOBER, reason="a credit was missing", by=fin, confirmed_by=ana)
        october.enter(f"E-{number}", "vision", ON, amount)
        if number == 3:  # a team moves: the old cost center gets all back
            Team.objects.filter(slug="search").update(cost_centre="P-9999")
        book_running(OCTOBER)
        draft = balances(rows_of())
        close_period(OCTOBER)
        rows = rows_of()
        assert balances(rows) == draft
        assert {one["External ID"] for one in rows} == {f"{OCTOBER}-r{number}"}
        centers = {one["Class"] for one in rows} - {"Platform"}
        assert centers == (
            {"R-4110"} if number == 2 else {"R-4110", "P-2010", "P-9999"}
        )
        posted.update(balances(rows))
        assert rows_of(number) == rows
    final = payables(3)
    assert posted["R-4110"] == final["vision"]
    assert posted["P-9999"] == final["search"]
    assert posted["P-2010"] == 0
    assert posted["Platform"] == -sum(final.values())


def balances(rows: list[dict[str, str]]) -> Counter[str]:
    """Debits less credits by cost center."""
    found: Counter[str] = Counter()
    for one in rows:
        amount = Decimal(one["Debit"] or 0) - Decimal(one["Credit"] or 0)
        found[one["Class"]] += amount  # type: ignore[assignment]
    return found


def test_a_journal_of_one_team_is_its_two_lines(october: Days) -> None:
    del october
    set_up("netsuite")
    close_period(OCTOBER)
    own = rows_of(team="vision")
    assert own == [one for one in rows_of() if "Vision" in one["Memo"]]
    assert len(own) == 2


def test_what_cannot_be_posted_is_refused_with_what_to_do(october: Days) -> None:
    del october
    close_period(OCTOBER)
    with pytest.raises(ExportError, match="add the section `journal`"):
        rows_of()
    set_up("netsuite")
    running = "2026-11"
    Team.objects.filter(slug="vision").update(cost_centre="")
    assert rows_of()  # a closed month has the names of its close
    Days.enter(Days.__new__(Days), "E-9", "vision", date(2026, 11, 5), "5.00")
    book_running(running)
    with pytest.raises(ExportError, match="without one: Vision"):
        list(stream(ExportRequest(What.JOURNAL, running)))


def test_a_revision_closed_without_a_cost_center_names_the_way_out(
    october: Days,
) -> None:
    Team.objects.filter(slug="vision").update(cost_centre="")
    close_period(OCTOBER)
    set_up("netsuite")
    with pytest.raises(ExportError, match="without one: Vision"):
        rows_of()
    Team.objects.filter(slug="vision").update(cost_centre="R-4110")
    ana, fin = (
        person("ana", OrganizationRole.ADMIN),
        person("fin", OrganizationRole.FINANCE),
    )
    reopen_period(OCTOBER, reason="a cost center", by=fin, confirmed_by=ana)
    october.enter("E-9", "vision", ON, "5.00")
    close_period(OCTOBER)
    with pytest.raises(ExportError, match="r1 was closed without the cost center of"):
        rows_of()


def test_a_draft_has_no_reference_of_a_close(october: Days) -> None:
    del october
    set_up("netsuite")
    book_running(OCTOBER)
    assert {one["External ID"] for one in rows_of()} == {f"{OCTOBER}-draft"}


def test_finance_gets_it_on_the_page_over_rest_and_by_command(
    october: Days, client: Client, tmp_path: Path
) -> None:
    del october
    client.force_login(person("fin", OrganizationRole.FINANCE))
    close_period(OCTOBER)
    file = f"/months/{OCTOBER}/files/journal"
    assert client.get(file).status_code == 400
    assert file not in client.get(f"/months/{OCTOBER}").content.decode()
    assert 'value="journal"' not in client.get("/exports").content.decode()
    set_up("netsuite")
    assert 'value="journal"' in client.get("/exports").content.decode()
    assert file in client.get(f"/months/{OCTOBER}").content.decode()
    answer = client.get(file)
    assert answer["Content-Disposition"].endswith('gpu-ledger_journal_2026-10_r1.csv"')
    text = b"".join(answer.streaming_content)  # type: ignore[attr-defined]
    written = tmp_path / "journal.csv"
    call_command(
        "export", "journal", "--period", OCTOBER, "--revision", "1", "-o", str(written)
    )
    assert written.read_bytes() == text
    book = load_workbook(
        BytesIO(
            b"".join(stream(ExportRequest(What.JOURNAL, OCTOBER, format=Format.XLSX)))
        )
    )
    lines = list(book.worksheets[0].iter_rows(values_only=True))
    debit = lines[0].index("Debit")
    assert [
        Decimal(str(row[debit])) for row in lines[1:] if row[debit] is not None
    ] == [Decimal(one["Debit"]) for one in rows_of() if one["Debit"]]


def test_the_same_map_again_changes_nothing(october: Days) -> None:
    del october
    set_up("sap")
    first = JournalSettings.objects.get().settings
    wanted = read_configuration((EXAMPLES / "journal-sap.yaml").read_text())
    assert apply_configuration(wanted, actor="test") == []
    set_up("netsuite")
    assert JournalSettings.objects.get().settings != first


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("", "columns"),
        ("{name: A, field: account}", "no column says what is debit"),
        (
            "{name: A, field: amount}, {name: B, field: side}",
            "no column has the account",
        ),
        (
            "{name: A, field: account}, {name: A, field: signed_amount}",
            "duplicate column",
        ),
        ("{name: A, field: color}", "is not one of account"),
        ('{name: "A\\"; DROP", field: account}', "is not the name of a column"),
        ('{name: "A%s", field: account}', "is not the name of a column"),
        ("{name: A}", "exactly one of field, value"),
        ("{name: A, field: account, format: YYYYMMDD}", "only a date has a format"),
        ("{name: A, field: date, format: YYYY}", "is not one of YYYY-MM-DD"),
        ("{name: A, field: account, debit: S}", "only the field `side`"),
        (
            f"{SIGNED}, {{name: C, field: cost_center}}",
            "give the cost center of the platform",
        ),
    ],
)
def test_a_wrong_map_is_refused(columns: str, message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        read_configuration(EXTRA.replace("{columns}", columns))


@pytest.mark.parametrize("text", ["{color}", "{period!r}", "{name:>9}", "{", "{}"])
def test_a_text_has_only_its_four_names(text: str) -> None:
    whole = EXTRA.replace("{columns}", SIGNED) + f'  text: "{text}"\n'
    with pytest.raises(DocumentError, match="no other braces"):
        read_configuration(whole)


def test_another_name_alone_is_not_posted_again() -> None:
    before = JournalPayer("vision", "Vision", "Research", "R-1")
    after = JournalPayer("vision", "Seeing", "Research", "R-1")
    assert to_post({after: Decimal(5)}, {before: Decimal(5)}) == {}
    [(payer, amount)] = to_post({after: Decimal(5)}, {before: Decimal(2)}).items()
    assert (payer.name, amount) == ("Seeing", Decimal(3))
