"""The address of one run: what an organization compares, as in the report by workload."""

from django.urls import NoReverseMatch, reverse

from accounting.core.unmapped import UNMAPPED


def run_url(team: str, namespace: str, kind: str, name: str) -> str:
    """The page of a run of a team; "" for one that no address can contain, or without a team."""
    dots = {namespace, kind, *name.split("/")} & {".", ".."}
    if team == UNMAPPED or dots or "/" in namespace + kind:
        return ""  # browsers resolve dots; Kubernetes has no such names
    if not (team and namespace and kind and name):
        return ""
    try:
        return reverse("team-run", args=[team, namespace, kind, name])
    except NoReverseMatch:  # a line break
        return ""
