"""Quotas of many teams as one CSV file (quotas.md, "Many quotas at once")."""

import csv
import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from scheduler_view.changes.rules.edit import MOST_EDITS

COLUMNS = ("team", "resource", "tier", "gpus")
EVERY_TEAM, NO_QUOTA = "*", "none"
MOST_FAULTS = 20  # that are listed; a wrong column has one in each line


class QuotaFileError(ValueError):
    """A file that cannot be used.

    Attributes:
        faults: sentences, each with its line.
    """

    def __init__(self, *faults: str) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults[:MOST_FAULTS]


@dataclass(frozen=True, slots=True)
class QuotaFileRow:
    """One line with a number: `gpus` is None if the quota is to be removed."""

    line: int
    team: str
    resource: str
    tier: str
    gpus: int | None

    @property
    def key(self) -> tuple[str, str, str]:
        """The key of the quota."""
        return self.team, self.resource, self.tier


def read_quota_file(text: str, teams: Collection[str]) -> list[QuotaFileRow]:
    """The rows of a file that have a number, or `none`; others are left as they are.

    A row of the team `*` counts for each team without a row of its own for that resource and tier.

    Args:
        text: the file, with commas, semicolons or tabs between cells, as spreadsheets write it.
        teams: slugs that there are.

    Raises:
        QuotaFileError: with every fault.
    """
    faults: list[str] = []
    rows = [row for row in _rows(text, set(teams), faults) if row is not None]
    keyed: dict[tuple[str, str, str], QuotaFileRow] = {}
    for row in rows:
        first = keyed.setdefault(row.key, row)
        if first is not row:
            text = f"line {row.line}: the same quota is in line {first.line}"
            faults.append(text)
    if faults:
        raise QuotaFileError(*faults)
    own = {key: row for key, row in keyed.items() if row.team != EVERY_TEAM}
    for row in rows:
        for team in sorted(teams) if row.team == EVERY_TEAM else ():
            one = QuotaFileRow(row.line, team, row.resource, row.tier, row.gpus)
            own.setdefault(one.key, one)
        if len(own) > MOST_EDITS:
            raise QuotaFileError(f"more than {MOST_EDITS:,} quotas: split the file")
    return list(own.values())


def differing(
    rows: Sequence[QuotaFileRow], present: Mapping[tuple[str, str, str], int]
) -> list[QuotaFileRow]:
    """The rows that change something; `present` are the GPUs of each quota."""
    return [row for row in rows if row.gpus != present.get(row.key)]


def _rows(
    text: str, teams: set[str], faults: list[str]
) -> Iterator[QuotaFileRow | None]:
    first = text.partition("\n")[0]
    mark = next((one for one in (";", "\t") if one in first and "," not in first), ",")
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=mark)
    try:
        header = [cell.strip().lower() for cell in next(reader, [])]
        missing = [name for name in COLUMNS if name not in header and name != "tier"]
        if missing:
            raise QuotaFileError(
                f"line 1: no column {', '.join(missing)}; the first line names the columns "
                f"{', '.join(COLUMNS)}"
            )
        for cells in reader:
            if any(cell.strip() for cell in cells[len(header) :]):
                faults.append(
                    f"line {reader.line_num}: more cells than columns; a number has no separator "
                    "of thousands"
                )
            elif any(cell.strip() for cell in cells):
                named = dict(
                    zip(header, (cell.strip() for cell in cells), strict=False)
                )
                yield _row(reader.line_num, named, teams, faults)
    except csv.Error as error:
        raise QuotaFileError(
            f"line {reader.line_num}: not valid CSV: {error}"
        ) from None


def _row(
    line: int, cells: dict[str, str], teams: set[str], faults: list[str]
) -> QuotaFileRow | None:
    team, resource = cells.get("team", ""), cells.get("resource", "")
    typed = cells.get("gpus", "")
    if not typed:
        return None
    number = typed.replace("\u00a0", "")
    is_number = number.isascii() and number.isdecimal() and len(number) < 8
    if team != EVERY_TEAM and team not in teams:
        faults.append(f"line {line}: no team has the short name '{team[:60]}'")
    if not resource:
        faults.append(f"line {line}: the resource is missing, such as nvidia.com/gpu")
    if not is_number and number.lower() != NO_QUOTA:
        faults.append(
            f"line {line}: '{typed[:60]}' is not a whole number of GPUs; "
            f"write '{NO_QUOTA}' to remove the quota, and nothing to leave it"
        )
        return None
    gpus = int(number) if is_number else None
    return QuotaFileRow(line, team, resource, cells.get("tier", ""), gpus)
