"""The period in which a row is valid, for constraints against overlaps."""

from django.contrib.postgres.fields import DateTimeRangeField
from django.db.models import Func


def validity() -> Func:
    """`tstzrange(valid_from, valid_to)`: half-open, as all periods.

    An expression of Django's own, so that no migration imports this module.
    """
    return Func(
        "valid_from",
        "valid_to",
        function="TSTZRANGE",
        output_field=DateTimeRangeField(),
    )
