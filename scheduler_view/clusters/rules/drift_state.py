"""The states of an object in a cluster, which the database stores."""

from enum import StrEnum


class DriftState(StrEnum):
    """Every object has one of these states; a cluster that does not respond gets no new ones."""

    IN_SYNC = "in_sync"
    # a field that we set was changed or removed, or a removed object still exists
    DIFFERS = "differs"
    OTHER = "other"  # another manager has it: it is shown, not changed
    NOT_MANAGED = "not_managed"  # it limits GPUs, and is not managed by GPU Ledger
