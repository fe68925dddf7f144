"""One spelling of each GPU model, however exporters and node labels write it (trap T8)."""

import re

_SUFFIX = re.compile(r"(-SHARED|-MIG-.*)+$")


def normal_model(name: str) -> str:
    """One spelling of a GPU model: dashes, without sharing and MIG suffixes (trap T8)."""
    return _SUFFIX.sub("", "-".join(name.split()))
