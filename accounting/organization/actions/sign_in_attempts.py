"""Sign-in attempts: limited per account and address, and recorded.

Guessing is limited with device cookies (OWASP, "Slow Down Online Guessing Attacks with
Device Cookies"): a browser in which an account has signed in before has a separate limit,
so that nobody can lock out its owner by guessing in other browsers. All other browsers share
limits per account and site, per site, and per account. An attempt is counted before its
password is checked, so that parallel attempts cannot exceed the limit; a rejected attempt
costs no password hash. All counts are in PostgreSQL: without it nobody can sign in.
"""

import hashlib
import unicodedata
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth import get_user_model
from django.db import connection, transaction
from django.db.models import F
from django.db.models.functions import Now

from accounting.access.models.account import SignInLimit, SignInOutcome, SignInRecord
from accounting.kit.audit import act
from accounting.kit.locks import lock
from accounting.kit.reads.database_clock import database_now

PAUSE = timedelta(minutes=15)  # attempts of a limit are counted from the first one on
BURST = PAUSE  # failures of one account that are closer together are one row

# Attempts within a pause. The first limit is for a person who mistypes, the second for an office
# with one address, the third for guessing from many addresses.
PER_DEVICE = 10
PER_ACCOUNT_AND_SITE = 5
PER_SITE = 30
PER_ACCOUNT = 50


class TooManyAttemptsError(Exception):
    """The attempt was rejected before its password was checked.

    Attributes:
        wait_s: seconds until the next attempt is accepted.
    """

    def __init__(self, wait_s: int) -> None:
        super().__init__(f"too many attempts: wait {wait_s} s")
        self.wait_s = wait_s


@dataclass(frozen=True, slots=True)
class Attempt:
    """One accepted attempt: its password may be checked.

    Attributes:
        keys: the limits that counted it.
        account: the name of the account; "" if no account has the name.
        address: of the client; None if not known.
    """

    keys: tuple[str, ...]
    account: str
    address: str | None


def begin_attempt(
    name: str, *, address: str | None, site: str, devices: Mapping[str, str]
) -> Attempt:
    """Count an attempt, and accept it if it is within its limits.

    Args:
        name: as typed.
        address: of the client, for the record.
        site: the unit of the limit by address, such as an IPv4 address or an IPv6 /64.
        devices: identifies the browser to the accounts that have signed in there before, by
            account id.

    Raises:
        TooManyAttemptsError: the attempt was rejected; the password was not checked.
    """
    user = get_user_model().objects.filter(username=_normal(name)).first()
    account = user.get_username() if user else ""
    device = devices.get(str(user.pk)) if user else None
    if device:
        own = _key("device", device)
        if not _count([(own, PER_DEVICE)]):
            return Attempt((own,), account, address)
    typed = _normal(name).casefold()
    limits = [
        (_key("account and site", typed, site), PER_ACCOUNT_AND_SITE),
        (_key("site", site), PER_SITE),
        (_key("account", typed), PER_ACCOUNT),
    ]
    wait_s = _count(limits)
    if wait_s:
        _record_failure(account, address)
        raise TooManyAttemptsError(wait_s)
    return Attempt(tuple(key for key, _ in limits), account, address)


def end_attempt(attempt: Attempt, *, has_succeeded: bool) -> None:
    """Record how an attempt ended; a successful attempt is removed from the counts."""
    if not has_succeeded:
        _record_failure(attempt.account, attempt.address)
        return
    own, shared = attempt.keys[0], attempt.keys[1:]
    SignInLimit.objects.filter(key=own).delete()
    SignInLimit.objects.filter(key__in=shared, attempts__gt=0).update(
        attempts=F("attempts") - 1
    )
    record(attempt.account, SignInOutcome.SIGNED_IN, attempt.address)


def count_guess(kind: str, subject: str) -> None:
    """Count an attempt to enter a secret by a person who is already signed in.

    Raises:
        TooManyAttemptsError: no more attempts are accepted for now.
    """
    if wait_s := _count([(_key(kind, subject), PER_DEVICE)]):
        raise TooManyAttemptsError(wait_s)


def record(
    account: str, outcome: SignInOutcome, address: str | None, actor: str = ""
) -> None:
    """Add a row to the sign-in record, and with it an entry to the audit log."""
    with act(actor or account or "anonymous", f"sign-in: {outcome.label.lower()}"):
        now = database_now()
        SignInRecord.objects.create(
            account=account, outcome=outcome, address=address, at=now, last_at=now
        )


def remove_old_limits() -> int:
    """Remove attempts that no limit counts any more; returns the number of keys."""
    old = SignInLimit.objects.filter(since__lt=Now() - PAUSE)
    return old.delete()[0]


def _record_failure(account: str, address: str | None) -> None:
    """One row per burst: failures that follow soon are counted in it."""
    with transaction.atomic():
        lock(
            "sign-ins", zlib.crc32(account.encode()) >> 1
        )  # two at the same time are one burst
        burst = (
            SignInRecord.objects.filter(
                account=account,
                outcome=SignInOutcome.FAILED,
                last_at__gte=Now() - BURST,
            )
            .order_by("-last_at")
            .values("pk")[:1]
        )
        going_on = SignInRecord.objects.filter(pk__in=burst)
        if not going_on.update(count=F("count") + 1, last_at=Now()):
            record(account, SignInOutcome.FAILED, address)


def _normal(name: str) -> str:
    """The name as Django's sign-in form normalizes it."""
    return unicodedata.normalize("NFKC", name.strip())[:150].replace("\0", "")


def _key(*parts: str) -> str:
    """The key of a limit; names and addresses cannot be read from it."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _count(limits: Sequence[tuple[str, int]]) -> int:
    """Count one attempt for all limits, or for none of them if one is exceeded.

    Rejected attempts are not counted: guessing at one account must not use up the limits
    that others share.

    Returns:
        Seconds to wait, at least 1, if a limit was already exceeded; else 0.
    """
    allowed = dict(limits)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO accounting_signinlimit AS l (key, attempts, since)
            SELECT key, 1, clock_timestamp() FROM unnest(%(keys)s::text[]) AS given(key)
            ON CONFLICT (key) DO UPDATE SET
                attempts = CASE WHEN l.since < clock_timestamp() - %(pause)s::interval
                           THEN 1 ELSE l.attempts + 1 END,
                since = CASE WHEN l.since < clock_timestamp() - %(pause)s::interval
                        THEN clock_timestamp() ELSE l.since END
            RETURNING key, attempts,
                ceil(extract(epoch FROM since + %(pause)s::interval - clock_timestamp()))::int
            """,
            {
                "keys": sorted(allowed),
                "pause": str(PAUSE),
            },  # one order for all transactions: no deadlock
        )
        rows: list[tuple[str, int, int]] = cursor.fetchall()
        waits = [
            max(1, left_s) for key, attempts, left_s in rows if attempts > allowed[key]
        ]
        if waits:
            transaction.set_rollback(True)
    return max(waits, default=0)
