"""Whether closed periods are still what was closed: hashes, their chain, sums (money.md M29)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db import connection

from accounting.core.interval import HOUR_MS
from accounting.metering.sql.largest_remainder_sql import half_even
from accounting.months.models.period import PeriodRevision
from accounting.months.sql.line_text_sql import line_id
from accounting.months.tasks import store
from accounting.months.tasks.corrections import OWN_KINDS
from accounting.months.tasks.own_lines import MICRO_RAW
from accounting.months.tasks.periods import previous_period
from accounting.months.tasks.statements import ENTRY_KINDS

MOST = 20  # violations of one rule


@dataclass(frozen=True, slots=True)
class ClosedVerdict:
    """The result of one rule for one closed revision.

    Attributes:
        revision: such as `2026-10-r1`.
        statement: what the rule says.
        violations: (what, found, expected).
    """

    revision: str
    statement: str
    violations: tuple[tuple[str, str, str], ...]

    @property
    def holds(self) -> bool:
        """True if there are no violations."""
        return not self.violations


# Rows are violations: (what, found, expected). Parameters: id, period, revision.
_IDS = f"""
    SELECT l.line_id, l.line_id, {line_id("l")} FROM charge_line l
    WHERE l.revision_id = %(id)s AND l.line_id <> {line_id("l")}
"""
_RAWS = f"""
    SELECT line_id, raw::text, (ms * rate * fx)::text FROM charge_line
    WHERE revision_id = %(id)s AND corrects = '' AND status = 'priced'
      AND kind IN ('usage', 'platform') AND raw IS DISTINCT FROM ms * rate * fx
    UNION ALL
    SELECT line_id, raw::text, (charge * {HOUR_MS})::text FROM charge_line
    WHERE revision_id = %(id)s AND kind IN {ENTRY_KINDS} AND corrects = ''
      AND raw IS DISTINCT FROM charge * {HOUR_MS}
    UNION ALL
    SELECT line_id, coalesce(charge::text, 'no charge'), status FROM charge_line
    WHERE revision_id = %(id)s AND kind <> 'rounding'
      AND ((raw IS NULL) <> (status <> 'priced') OR (raw IS NULL) <> (charge IS NULL))
"""
_CHARGES = f"""
    SELECT team, sum(charge)::text, ({half_even("sum(raw)", MICRO_RAW)} * 0.000001)::text
    FROM charge_line
    WHERE revision_id = %(id)s AND corrects = '' AND kind IN {OWN_KINDS} AND raw IS NOT NULL
    GROUP BY team
    HAVING sum(charge) <> {half_even("sum(raw)", MICRO_RAW)} * 0.000001
    UNION ALL
    SELECT team || ' ' || corrects, sum(charge)::text, (sum(raw) / {HOUR_MS})::text
    FROM charge_line WHERE revision_id = %(id)s AND corrects <> '' AND raw IS NOT NULL
    GROUP BY team, corrects
    HAVING abs(sum(charge) * {HOUR_MS} - sum(raw)) > {MICRO_RAW}
"""
_SUMS = f"""
    WITH line AS (
        SELECT team,
               coalesce(sum(charge) FILTER (
                   WHERE kind IN {OWN_KINDS} AND corrects = ''), 0) AS own6,
               coalesce(sum(charge) FILTER (WHERE kind IN {ENTRY_KINDS}), 0) AS entries6,
               coalesce(sum(charge) FILTER (WHERE corrects <> ''), 0) AS corrections6,
               coalesce(sum(charge) FILTER (WHERE kind <> 'rounding'), 0) AS total6,
               coalesce(sum(charge), 0) AS payable
        FROM charge_line WHERE revision_id = %(id)s GROUP BY team
    ), statement AS (
        SELECT team, own6, entries6, corrections6, total6, payable
        FROM accounting_statement WHERE revision_id = %(id)s
    )
    SELECT concat_ws(', ', team, amount.name) AS named,
           coalesce(amount.stored::text, 'no statement'),
           coalesce(amount.summed::text, 'no lines')
    FROM statement s FULL JOIN line l USING (team)
    CROSS JOIN LATERAL (VALUES
        ('charges', s.own6, l.own6), ('entries', s.entries6, l.entries6),
        ('corrections', s.corrections6, l.corrections6), ('total', s.total6, l.total6),
        ('payable', s.payable, l.payable)
    ) AS amount (name, stored, summed)
    WHERE coalesce(amount.stored, 0) <> coalesce(amount.summed, 0)
    ORDER BY named
"""
_TOTALS = """
    SELECT total.name, total.stored::text, total.summed::text
    FROM accounting_periodrevision r
    CROSS JOIN LATERAL (SELECT count(*) AS lines FROM charge_line
                        WHERE revision_id = r.id) l
    CROSS JOIN LATERAL (SELECT sum(total6) AS total6, sum(payable) AS payable
                        FROM accounting_statement WHERE revision_id = r.id) s
    CROSS JOIN LATERAL (VALUES
        ('number of lines', r.line_count, l.lines), ('total', r.total6, s.total6),
        ('payable', r.payable, s.payable)
    ) AS total (name, stored, summed)
    WHERE r.id = %(id)s AND total.stored IS DISTINCT FROM total.summed
"""
_ORGANIZATION = """
    SELECT 'organization', concat_ws(', ', r.organization_id, r.organization_name),
           concat_ws(', ', e.organization_id, e.organization_name)
    FROM accounting_periodrevision r
    CROSS JOIN LATERAL (
        SELECT * FROM accounting_periodrevisionevent
        WHERE pgh_obj_id = r.id ORDER BY pgh_id DESC LIMIT 1
    ) e
    WHERE r.id = %(id)s AND (r.organization_id, r.organization_name)
          IS DISTINCT FROM (e.organization_id, e.organization_name)
"""
_PAYERS = """
    SELECT coalesce(shown.key, sealed.key), shown.value::text, sealed.value::text
    FROM (SELECT key, value FROM accounting_periodrevision r, jsonb_each(r.payers)
          WHERE r.id = %(id)s) shown
    FULL JOIN (
        SELECT key, value FROM jsonb_each((
            SELECT payers FROM accounting_periodrevisionevent
            WHERE pgh_obj_id = %(id)s ORDER BY pgh_id DESC LIMIT 1))
    ) sealed USING (key)
    WHERE shown.value IS DISTINCT FROM sealed.value
"""
# The hash is over payable and number of lines, too (M29). From the chain itself: a close, and what
# is stored beside it, can be rewritten together by the owner of the tables.
_SEALED = """
    SELECT 'hash', r.hash, coalesce(sealed.hash, 'not sealed')
    FROM accounting_periodrevision r
    LEFT JOIN LATERAL (
        SELECT body -> 'row' ->> 'hash' AS hash FROM accounting_auditlink
        WHERE source = 'accounting_periodrevisionevent' AND object_id = r.id
        ORDER BY id DESC LIMIT 1
    ) sealed ON true
    WHERE r.id = %(id)s AND r.hash IS DISTINCT FROM sealed.hash
"""
# Months that were closed before hours were stored have none until a worker divides them.
_HOURS = """
    SELECT l.line_id, coalesce(h.total::text, 'no hours'), coalesce(l.charge, l.ms)::text
    FROM charge_line l
    LEFT JOIN LATERAL (
        SELECT sum(part) AS total FROM line_hours o, unnest(o.parts) part
        WHERE o.revision_id = l.revision_id AND o.line_id = l.line_id
    ) h ON true
    WHERE l.revision_id = %(id)s AND l.billing_on IS NOT NULL
      AND EXISTS (SELECT FROM line_hours WHERE revision_id = %(id)s)
      AND h.total IS DISTINCT FROM coalesce(l.charge, l.ms)
"""
_RULES = (
    ("each line has the id of its fields", _IDS),
    ("raw is time x price x conversion", _RAWS),
    ("the charges of a statement are its raw sum, rounded once", _CHARGES),
    ("the hours of each line come to the line", _HOURS),
    ("statements are the sums of their lines", _SUMS),
    ("the period is the sum of its statements", _TOTALS),
    (
        "the hash, and so payable and number of lines, is the one that the audit log has sealed",
        _SEALED,
    ),
    ("the organization is the one that the audit log has sealed", _ORGANIZATION),
    ("the names of teams are those that the audit log has sealed", _PAYERS),
)


def closed_verdicts(period: str | None = None) -> Iterator[ClosedVerdict]:
    """Check every revision that was ever closed, oldest first; in a transaction.

    Args:
        period: only this one, YYYY-MM.
    """
    rows = PeriodRevision.objects.filter(closed_at__isnull=False)
    if period is not None:
        rows = rows.filter(period=period)
    for revision in rows.order_by("period", "revision"):
        yield _verdict(
            revision, "lines and header have the hash of the close", _hash(revision)
        )
        yield _verdict(
            revision, "the hash continues that of the month before", _chain(revision)
        )
        for statement, query in _RULES:
            yield _verdict(revision, statement, _violations(query, revision))


def _verdict(
    revision: PeriodRevision, statement: str, found: list[tuple[str, str, str]]
) -> ClosedVerdict:
    return ClosedVerdict(str(revision), statement, tuple(found))


def _hash(revision: PeriodRevision) -> list[tuple[str, str, str]]:
    now = store.hash_lines("charge_line", revision)
    return [] if now == revision.hash else [("hash", now, revision.hash)]


def _chain(revision: PeriodRevision) -> list[tuple[str, str, str]]:
    """The revision before it was that in effect when it was closed."""
    before = PeriodRevision.objects.filter(
        period=previous_period(revision.period), closed_at__lte=revision.closed_at
    ).last()
    expected = before.hash if before else ""
    if revision.previous_hash == expected:
        return []
    return [("hash of the month before", revision.previous_hash, expected)]


def _violations(query: str, revision: PeriodRevision) -> list[tuple[str, str, str]]:
    values: dict[str, Any] = {
        "id": revision.pk,
        "period": revision.period,
        "revision": revision.revision,
    }
    with connection.cursor() as cursor:
        cursor.execute(f"{query} LIMIT {MOST}", values)
        return [(str(a), str(b), str(c)) for a, b, c in cursor.fetchall()]
