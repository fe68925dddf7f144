"""Findings as rows of the database."""

from datetime import date
from decimal import Decimal
from fractions import Fraction

from accounting.metering.models.cluster import Cluster
from scheduler_view.savings.models import WasteFinding
from scheduler_view.savings.rules.finding import Finding

ROWS_AT_ONCE = 2_000


def finding_rows(cluster: Cluster, finding: Finding) -> list[WasteFinding]:
    """The rows of a finding: one for each day, team and currency. The caller sets its subject."""
    return [
        WasteFinding(
            cluster=cluster,
            day=date.fromordinal(key.day),
            rule=finding.rule.value,
            team_id=key.team or None,
            start_ms=finding.start_ms,
            end_ms=finding.end_ms,
            gpu_ms=one.gpu_ms,
            raw=_decimal(one.raw),
            raw_low=None if one.raw_low is None else _decimal(one.raw_low),
            unpriced_ms=one.unpriced_ms,
            ledger_ms=one.ledger_ms,
            ledger_raw=_decimal(one.ledger_raw),
            currency=key.currency,
            evidence=dict(finding.evidence),
        )
        for key, one in finding.slices.items()
    ]


def _decimal(raw: Fraction) -> Decimal:
    return Decimal(raw.numerator) / Decimal(raw.denominator)
